// The gradients of a model: programs of their own, and the phases on the way to them.
#include "driver/GraphOfProgram.h"
#include "driver/Phases.h"
#include "driver/RunPasses.h"
#include "driver/models/Gradient.h"
#include "driver/models/SingleModel.h"
#include "runtime/system/ForkSafety.h"
#include "transform/choices/ProgramRecipe.h"

namespace headrace {

using NamedGraphs = std::vector<std::pair<std::string, ProgramGraph>>;

template <class Shown>
std::optional<Shown>
SingleModel::afterGradientPhase(const std::string &phase, const GradientOptions &options,
                                Shown (*shown)(const SingleModel &, LevelOneProgram)) {
  std::lock_guard lock(*compileLock);
  CompilerSection section;
  requirePhase(phase, /*hasGradient=*/true);
  auto program =
      headrace::afterGradientPhase(copied(source()), options, Direction::Apart, phase,
                                   settings.target, GradientRecipe::of(settings.recipe).split);
  return program ? std::optional(shown(*this, std::move(*program))) : std::nullopt;
}

std::string Model::gradientIr(const std::string &phase, const GradientOptions &options,
                              const Sizes &sizes) const {
  auto text = [](const SingleModel &, LevelOneProgram program) { return printed(*program.module); };
  if (auto found =
          impl->single("its gradient").afterGradientPhase<std::string>(phase, options, text))
    return *found;
  ForwardBackward pair = forwardAndBackward(options);
  return "// forward\n" + pair.forward->ir(phase, sizes) + "\n// backward\n" +
         pair.backward->ir(phase, sizes);
}

std::vector<std::pair<std::string, ProgramGraph>>
Model::gradientGraphs(const std::string &phase, const GradientOptions &options,
                      const Sizes &sizes) const {
  auto graphs = [](const SingleModel &single, LevelOneProgram program) {
    NamedGraphs graphs;
    for (auto &[name, part] : programsByDirection(std::move(program))) {
      graphs.emplace_back(name, graphOf(*part.module, targetsOf(single.settings), ""));
      graphs.back().second.model = part.name;
    }
    return graphs;
  };
  if (auto found =
          impl->single("its gradient").afterGradientPhase<NamedGraphs>(phase, options, graphs)) {
    for (auto &[name, graph] : *found)
      graph.phase = phase;
    return std::move(*found);
  }
  ForwardBackward pair = forwardAndBackward(options);
  return {{"forward", pair.forward->graph(phase, sizes)},
          {"backward", pair.backward->graph(phase, sizes)}};
}

std::shared_ptr<Model> Model::withGradient(const GradientOptions &options) const {
  std::unique_ptr<Impl> model = impl->withGradient(options);
  model->threads = impl->threads;
  return std::shared_ptr<Model>(new Model(std::move(model)));
}

std::unique_ptr<Model::Impl> SingleModel::withGradient(const GradientOptions &options) {
  requireUnchangedFiles();
  std::lock_guard lock(*compileLock);
  CompilerSection section;
  LevelOneProgram program = differentiated(copied(source()), options);
  if (source().importFor)
    program.importFor = [again = source().importFor, options](const SizeRanges &sizes) {
      return differentiated(again(sizes), options);
    };
  auto model = std::make_unique<SingleModel>(std::move(program), settings);
  auto before = std::make_shared<LevelOneProgram>(copied(source()));
  model->gradientIr = [before, options, target = settings.target](const std::string &phase) {
    auto program =
        headrace::afterGradientPhase(copied(*before), options, Direction::Joint, phase, target);
    return program ? std::optional(printed(*program->module)) : std::nullopt;
  };
  return model;
}

ForwardBackward Model::forwardAndBackward(const GradientOptions &options) const {
  ForwardBackward result = impl->forwardAndBackward(options);
  for (Model *model : {result.forward.get(), result.backward.get()})
    model->impl->threads = impl->threads;
  return result;
}

ForwardBackward SingleModel::forwardAndBackward(const GradientOptions &options) {
  requireUnchangedFiles();
  std::lock_guard lock(*compileLock);
  CompilerSection section;
  GradientRecipe recipe = GradientRecipe::of(settings.recipe);
  Settings forward = settings, backward = settings;
  forward.recipe = recipe.hasPrograms ? recipe.forward : "";
  backward.recipe = recipe.hasPrograms ? recipe.backward : "";
  DirectionPrograms programs =
      splitByDirection(copied(source()), options, settings.target, recipe.split);
  return {std::make_shared<Model>(std::move(programs.forward), forward),
          std::make_shared<Model>(std::move(programs.backward), backward), std::move(programs.kept),
          std::move(programs.computedAgain), std::move(programs.choices)};
}

} // namespace headrace
