// A model as its phases leave it, and its kernels as they are expected to run: nothing runs here.
#include "driver/GraphOfProgram.h"
#include "driver/OperatorsOfProgram.h"
#include "driver/Phases.h"
#include "driver/RunPasses.h"
#include "driver/models/SingleModel.h"
#include "driver/models/WithCompiler.h"
#include "runtime/system/ForkSafety.h"

#include <mutex>

using namespace mlir;

namespace headrace {

static std::vector<PhaseInfo> described(ArrayRef<Phase> phases) {
  std::vector<PhaseInfo> result;
  for (const Phase &phase : phases)
    result.push_back({phase.name.str(), phase.summary.str()});
  return result;
}

std::vector<PhaseInfo> phases(const std::string &target) {
  Settings settings;
  settings.target = target;
  return described(compilerPhases(settings));
}

std::vector<PhaseInfo> gradientPhases() { return described(gradientPhases({}, /*split=*/true)); }

void SingleModel::requirePhase(const std::string &phase, bool hasGradient) const {
  std::vector<PhaseInfo> known = phases(settings.target), before = gradientPhases();
  if (hasGradient)
    known.insert(known.begin(), before.begin(), before.end());
  std::string names;
  for (const PhaseInfo &info : known) {
    if (info.name == phase)
      return;
    names += (names.empty() ? "" : ", ") + info.name;
  }
  throw Error(ErrorKind::InvalidArgument, "unknown phase '" + phase + "'; the phases are " + names);
}

std::string Model::ir(const std::string &phase, const Sizes &sizes) {
  SingleModel &single = impl->single("its phases");
  single.requirePhase(phase, single.gradientIr != nullptr);
  Sizes values = impl->checked(sizes);
  auto source = single.programFor(values);
  std::lock_guard lock(*single.compileLock);
  CompilerSection section;
  if (single.gradientIr)
    if (auto text = single.gradientIr(phase))
      return *text;
  return withCompiler(
      source->program, single.settingsFor(*source), source->own(values),
      [&](Compiler &compiler, ModuleOp program) {
        compiler.runPhases(program, phase);
        std::string text = printed(program);
        Targets targets = targetsOf(impl->settings);
        if (!targets.isOne() && phase == targets.wanted.phases().back().name)
          for (const KernelImage &kernel :
               targets.wanted.compile(targets.kernelsOf(program, targets.wanted)).images)
            text += "\n// " + kernel.kernel + ", as the engine reads it:\n" + kernel.image.text;
        return text;
      });
}

ProgramGraph Model::graph(const std::string &phase, const Sizes &sizes, const std::string &codeOf) {
  SingleModel &single = impl->single("its phases");
  single.requirePhase(phase, /*hasGradient=*/false);
  Sizes values = impl->checked(sizes);
  auto source = single.programFor(values);
  std::lock_guard lock(*single.compileLock);
  CompilerSection section;
  ProgramGraph graph =
      withCompiler(source->program, single.settingsFor(*source), source->own(values),
                   [&](Compiler &compiler, ModuleOp program) {
                     compiler.runPhases(program, phase);
                     return graphOf(program, targetsOf(impl->settings), phase, codeOf);
                   });
  graph.model = impl->name;
  return graph;
}

explore::OperatorGraph Model::operators(explore::Granularity granularity, const Sizes &sizes) {
  SingleModel &single = impl->single("its task graphs");
  Sizes values = impl->checked(sizes);
  std::string open;
  for (auto [name, value] : llvm::zip_equal(impl->symbols, values))
    if (!value)
      open += (open.empty() ? "'" : ", '") + name + "'";
  if (!open.empty())
    throw Error(ErrorKind::InvalidArgument,
                impl->name + ": expected values of all sizes for exploration, got none of " + open);
  auto source = single.programFor(values);
  std::lock_guard lock(*single.compileLock);
  CompilerSection section;
  OwningOpRef<ModuleOp> program = specializeProgram(*source->program.module, source->own(values));
  bool isFused = granularity == explore::Granularity::Fused;
  Compiler(source->program.context, single.settingsFor(*source), impl->name)
      .runPhases(*program, isFused ? "layout" : "simplify");
  explore::OperatorGraph graph =
      operatorsOf(*program, impl->name, isFused ? &findTarget(impl->settings.target) : nullptr);
  return isFused ? explore::fused(graph) : graph;
}

std::vector<KernelPrediction> Model::predict(std::span<const Tensor> inputs, int threads) {
  SingleModel &single = impl->single("times that are expected");
  std::vector<int64_t> symbols = bind(inputs), open;
  Sizes version = single.versionFor(symbols);
  auto source = single.programFor(Sizes(symbols.begin(), symbols.end()));
  for (size_t i = 0; i < symbols.size(); ++i)
    if (!version[i] && !source->isNumber[i])
      open.push_back(symbols[i]);
  std::lock_guard lock(*single.compileLock);
  CompilerSection section;
  return withCompiler(source->program, single.settingsFor(*source), source->own(version),
                      [&](Compiler &compiler, ModuleOp program) {
                        return compiler.predict(program, open, threads);
                      });
}

} // namespace headrace
