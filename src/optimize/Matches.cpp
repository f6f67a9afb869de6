#include "optimize/Matches.h"

#include "analysis/OperatorWork.h"
#include "dialect/Hr.h"
#include "driver/Predict.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include "schedule/Space.h"

using namespace mlir;

namespace headrace::optimize {
namespace {

/// How many schedules of a kernel are predicted in full: those that take least by the work of the
/// kernel alone.
constexpr size_t kSchedulesPerKernel = 2;

class Matcher {
public:
  Matcher(const Plan &plan, const Targets &targets)
      : plan(plan), recipe(plan.recipe), targets(targets) {}

  std::vector<Step> run() {
    for (const ProgramStep &step : recipe.parts().steps)
      addOthersThan(step);
    for (const MissedOptimization &missed : plan.missed)
      addMissed(missed.step);
    addNeighbours();
    for (const ProgramRecipe::Kernel &kernel : recipe.parts().kernels)
      if (!recipe.objectOf(verbs::walk.name, lastOf(kernel.name)))
        add(verbs::walk, lastOf(kernel.name), "d0");
    addSchedules();
    return std::move(steps);
  }

private:
  void add(const ProgramStep &choice) {
    if (recipe.has(choice) || !known.insert(choice.text()).second)
      return;
    Step &step = steps.emplace_back();
    step.choice = choice;
    step.choice->line = 0;
  }
  void add(const Verb &verb, const std::string &subject, const std::string &object = "") {
    add({verb.name.str(), subject, object});
  }

  /// The operator that computes the result of the kernel of this name.
  std::string lastOf(const std::string &kernel) const {
    std::vector<std::string> others = recipe.othersIn(kernel);
    return others.empty() ? kernel : others.front();
  }

  /// Contractions and convolutions have several implementations, around which kernels are formed.
  bool isAnchor(const std::string &op) const {
    return recipe.objectOf(verbs::expand.name, op).has_value();
  }

  /// What could be chosen instead of a step that was followed.
  void addOthersThan(const ProgramStep &step) {
    const Verb &verb = *findVerb(step.verb);
    if (verb.name == verbs::fold.name) {
      add(verbs::leave, step.subject);
    } else if (verb.name == verbs::layout.name) {
      for (StringRef word : verb.words)
        if (!word.starts_with("blocked") || isAnchor(step.subject))
          add(verb, step.subject, word.str());
    } else if (verb.name == verbs::fuse.name) {
      add(verbs::separate, step.subject);
    } else if (verb.name == verbs::walk.name) {
      add(verb, step.subject, step.object == "nothing" ? "d0" : "nothing");
    } else if (verb.name == verbs::pack.name) {
      for (int columns : {1, 8, 16, 32, 64})
        add(verb, step.subject, std::to_string(columns));
    }
  }

  /// What the compiler considered itself.
  void addMissed(const std::string &text) {
    if (StringRef(text).contains(kEvery) || !findVerb(StringRef(text).split(' ').first))
      return;
    Step step = Step::parse(text);
    if (step.choice)
      add(*step.choice);
  }

  /// Kernels that read what another computes, and kernels that read the same.
  void addNeighbours() {
    ModuleOp program = *plan.program;
    llvm::MapVector<Value, SmallVector<std::string>> readers;
    for (auto launch : entryFunction(program).getOps<hr::LaunchOp>()) {
      std::string name = kernelNameOf(launch);
      for (Value operand : launch.getInputs()) {
        while (auto view = operand.getDefiningOp<hr::ReshapeOp>())
          operand = view.getInput();
        if (!operand.getDefiningOp<hr::ConstantOp>())
          readers[operand].push_back(name);
        if (auto producer = operand.getDefiningOp<hr::LaunchOp>())
          addFusion(kernelNameOf(producer), name);
      }
      addSlices(launch, name);
    }
    for (auto &[value, names] : readers)
      for (size_t i = 1; i < names.size(); ++i)
        if (names[i] != names[i - 1])
          add(verbs::merge, names[i], names[i - 1]);
  }

  /// A kernel is named after its anchor: the one that has none joins the other.
  void addFusion(const std::string &producer, const std::string &consumer) {
    if (isAnchor(producer))
      add(verbs::fuse, consumer, producer);
    else
      add(verbs::fuse, producer, consumer);
  }

  void addSlices(hr::LaunchOp launch, const std::string &name) {
    auto type = cast<RankedTensorType>(launch->getResult(0).getType());
    if (type.getRank() == 0 || type.isDynamicDim(0) || type.getDimSize(0) < 2)
      return;
    if (recipe.objectOf(verbs::slice.name, name))
      add(verbs::slice, name, std::to_string(type.getDimSize(0)));
    else
      add(verbs::slice, name, "1");
  }

  /// The schedules of each kernel that are predicted to be fastest by its own work.
  void addSchedules() {
    ModuleOp program = *plan.program;
    const Sequence &sequence = plan.sequence;
    const std::vector<int64_t> &symbols = sequence.symbols;
    std::vector<StepPrediction> predictions =
        predictSteps(sequence.program, sequence.works, targets, symbols, /*threads=*/1);
    size_t index = 0;
    auto launches = entryFunction(program).getOps<hr::LaunchOp>();
    auto launch = launches.begin();
    for (const headrace::Step &step : sequence.program.steps) {
      const StepPrediction &prediction = predictions[index++];
      if (step.kind != headrace::Step::Kind::Kernel)
        continue;
      auto operations = static_cast<double>(step.cost.operations.evaluate(symbols));
      addSchedules(*launch++, prediction, symbols, operations);
    }
  }

  void addSchedules(hr::LaunchOp launch, const StepPrediction &prediction,
                    ArrayRef<int64_t> symbols, double operations) {
    auto module = ModuleOp(*plan.program).lookupSymbol<ModuleOp>(launch.getKernel());
    std::string name = kernelNameOf(launch);
    const Target &target = targets.of(module);
    std::vector<std::unique_ptr<ScheduleSpace>> spaces = target.schedules(module);
    std::vector<std::pair<double, std::string>> found;
    for (size_t stage = 0; stage < spaces.size(); ++stage)
      for (const ScheduleRecord &other : spaces[stage]->alternatives()) {
        auto work = target.workUnder(module, other, symbols, operations);
        double time = prediction.estimate.microseconds;
        if (work) {
          llvm::append_range(work->streams, prediction.accesses);
          time = target.costModel().microseconds(*work);
        }
        std::string lines;
        for (size_t each = 0; each < spaces.size(); ++each)
          lines += spaces[each]->recipe(each == stage ? other : spaces[each]->proposed());
        found.emplace_back(time, lines);
      }
    llvm::sort(found);
    for (const auto &[time, lines] : ArrayRef(found).take_front(kSchedulesPerKernel)) {
      Step &step = steps.emplace_back();
      step.kernel = ProgramRecipe::Kernel{name, lines};
      if (!known.insert(step.text()).second)
        steps.pop_back();
    }
  }

  const Plan &plan;
  const CompleteRecipe &recipe;
  const Targets &targets;
  std::vector<Step> steps;
  llvm::StringSet<> known;
};

} // namespace

std::vector<Step> matchesIn(const Plan &plan, const Targets &targets) {
  return Matcher(plan, targets).run();
}

std::vector<Step> plainSchedules(const Plan &plan, const Targets &targets) {
  ModuleOp program = *plan.program;
  std::vector<Step> steps;
  for (auto launch : entryFunction(program).getOps<hr::LaunchOp>()) {
    auto module = program.lookupSymbol<ModuleOp>(launch.getKernel());
    std::string lines;
    bool isPlain = false;
    for (const std::unique_ptr<ScheduleSpace> &space : targets.of(module).schedules(module)) {
      std::vector<ScheduleRecord> kinds = space->otherKinds();
      auto plain = llvm::find_if(kinds, [](const auto &other) { return other.kind == "plain"; });
      isPlain |= plain != kinds.end();
      lines += space->recipe(plain != kinds.end() ? *plain : space->proposed());
    }
    if (isPlain)
      steps.emplace_back().kernel = ProgramRecipe::Kernel{kernelNameOf(launch), lines};
  }
  return steps;
}

std::vector<Step> matchesBeforeSplit(const CompleteRecipe &choices) {
  std::vector<Step> steps;
  auto add = [&](const Verb &verb, const std::string &subject, const std::string &object = "") {
    steps.emplace_back().choice = ProgramStep{verb.name.str(), subject, object};
  };
  for (const ProgramStep &step : choices.parts().steps)
    if (step.verb == verbs::keep.name)
      add(verbs::recompute, step.subject);
    else if (step.verb == verbs::recompute.name)
      add(verbs::keep, step.subject);
    else if (step.verb == verbs::layout.name)
      for (StringRef word : {"channels-first", "channels-last"})
        if (step.object != word)
          add(verbs::layout, step.subject, word.str());
  return steps;
}

} // namespace headrace::optimize
