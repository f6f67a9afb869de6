#include "transform/kernels/KernelStages.h"

#include "runtime/system/Error.h"
#include "transform/choices/Choices.h"
#include "transform/choices/RecipePlace.h"
#include "transform/kernels/ProgramModel.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace headrace {
namespace {

/// The values that the kernel's last operations yield or store.
SmallVector<Value> resultsOf(Block &kernel) {
  SmallVector<Value> results;
  for (Operation &op : kernel)
    if (auto store = dyn_cast<bufferization::MaterializeInDestinationOp>(op))
      results.push_back(store.getSource());
    else if (auto yield = dyn_cast<hr::YieldOp>(op))
      llvm::append_range(results, yield.getValues());
  for (Value &result : results)
    if (Operation *op = result.getDefiningOp(); op && isBorder(op))
      result = cast<tensor::PadOp>(op).getSource();
  return results;
}

/// A stage by all its names.
struct NamedStage {
  hr::KernelOp kernel;
  std::string inProgram, inKernel;
  std::string inReports{}; // called after the kernel as reports call it
};

std::vector<NamedStage> namedStages(func::FuncOp program) {
  std::vector<NamedStage> stages;
  KernelNames names;
  for (auto kernel : program.getOps<hr::KernelOp>()) {
    Block &body = kernel.getBody().front();
    std::string name = names.next(kernel.getName());
    std::string root = rootStageOf(body);
    for (Operation *op : stagesOf(body))
      for (unsigned i = 0; i < op->getNumResults(); ++i) {
        std::string stage = stageOfResult(stageOf(op), i);
        stages.push_back({kernel, stageName(name, stage, root), stage,
                          stageName(kernelNameOf(kernel), stage, root)});
      }
  }
  return stages;
}

[[noreturn]] void refuse(const StageLine &line, const std::string &reason) {
  throw Error(ErrorKind::InvalidArgument, placeInRecipe(line.line) + ": " + reason);
}

std::string listOf(ArrayRef<NamedStage> stages) {
  constexpr size_t kMax = 20;
  std::string list;
  for (const NamedStage &stage : stages.take_front(kMax))
    list += (list.empty() ? "'" : ", '") + stage.inProgram + "'";
  if (stages.size() > kMax)
    list += " and " + std::to_string(stages.size() - kMax) + " more";
  return list.empty() ? "none" : list;
}

/// Finds a stage by its name in the program, else by that in reports, else by that in a kernel if
/// only one kernel has such a stage.
NamedStage find(func::FuncOp program, ArrayRef<NamedStage> stages, const StageLine &line) {
  std::vector<NamedStage> exact, inReports, inKernels;
  for (const NamedStage &stage : stages) {
    if (stage.inProgram == line.stage)
      exact.push_back(stage);
    if (stage.inReports == line.stage)
      inReports.push_back(stage);
    if (stage.inKernel == "/" + line.stage)
      inKernels.push_back(stage);
  }
  const std::vector<NamedStage> &found = !exact.empty()       ? exact
                                         : !inReports.empty() ? inReports
                                                              : inKernels;
  if (found.size() == 1)
    return found.front();
  if (!found.empty())
    refuse(line, "'" + line.stage + "' is a stage of several kernels: " + listOf(found));
  for (auto call : program.getOps<hr::LibraryOp>())
    if (plainName(call.getName()) == line.stage)
      refuse(line, "'" + line.stage + "' is a call of a library (" + call.getRoutine().str() +
                       "); the expansion 'generated' makes it a stage");
  refuse(line, "there is no stage '" + line.stage + "'; there are " + listOf(stages));
}

} // namespace

SmallVector<Operation *> stagesOf(Block &kernel) {
  SmallVector<Value> results = resultsOf(kernel);
  SmallVector<Operation *> stages;
  for (Operation &op : kernel) {
    if (stageOf(&op).empty() || op.getNumResults() == 0)
      continue;
    // A fill has the name of the stage it starts.
    if (!isa<linalg::FillOp>(op) || llvm::is_contained(results, op.getResult(0)))
      stages.push_back(&op);
  }
  return stages;
}

std::string rootStageOf(Block &kernel) {
  SmallVector<Value> results = resultsOf(kernel);
  auto root = results.size() == 1 ? dyn_cast<OpResult>(results.front()) : OpResult();
  bool isNamed =
      llvm::any_of(stagesOf(kernel), [](Operation *op) { return !stageOf(op).starts_with("/"); });
  return root && !isNamed ? stageOfResult(stageOf(root.getOwner()), root.getResultNumber()) : "";
}

std::string stageOfResult(StringRef stage, unsigned result) {
  return result == 0 ? stage.str() : stage.str() + "." + std::to_string(result);
}

std::string KernelNames::next(StringRef kernel) {
  std::string name = plainName(kernel);
  if (int number = count[name]++)
    name += "." + std::to_string(number);
  return name;
}

std::string stageName(const std::string &kernel, StringRef stage, StringRef root) {
  if (!stage.starts_with("/"))
    return stage.str();
  return stage == root ? kernel : kernel + stage.str();
}

std::string namedInProgram(StringRef text, const std::string &kernel, StringRef root) {
  std::string result;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    auto [stage, said] = line.split(':');
    result += stageName(kernel, stage, root) + ":" + said.str();
    if (line.size() < text.size())
      result += "\n";
    text = rest;
  }
  return result;
}

std::vector<std::string> stageNames(func::FuncOp program) {
  std::vector<std::string> names;
  for (const NamedStage &stage : namedStages(program))
    names.push_back(stage.inProgram);
  return names;
}

/// The stages of a CPU's kernels: the one that computes a kernel's result is called as the
/// kernel is, and every one `kernel/stage`.
static llvm::StringMap<NamedStage> stagesByName(func::FuncOp program) {
  llvm::StringMap<NamedStage> stages;
  for (auto kernel : program.getOps<hr::KernelOp>()) {
    Block &body = kernel.getBody().front();
    std::string name = kernelNameOf(kernel);
    SmallVector<Value> results = resultsOf(body);
    Operation *root = results.size() == 1 ? results.front().getDefiningOp() : nullptr;
    for (Operation *op : stagesOf(body)) {
      NamedStage stage{kernel, name + "/" + stageOf(op).str(), stageOf(op).str()};
      stages[stage.inProgram] = stage;
      if (op == root)
        stages[name] = stage;
    }
  }
  return stages;
}

void attachStepsToKernels(func::FuncOp program, const Recipe &recipe) {
  llvm::StringMap<NamedStage> stages = stagesByName(program);
  llvm::MapVector<Operation *, Recipe> recipes;
  llvm::MapVector<Operation *, std::vector<int>> lines;
  for (RecipeStep step : recipe.steps) {
    auto found = stages.find(step.stage);
    if (found == stages.end()) {
      std::vector<NamedStage> known;
      for (const auto &stage : stages)
        known.push_back(stage.second);
      llvm::sort(known, [](const NamedStage &a, const NamedStage &b) {
        return a.inProgram < b.inProgram;
      });
      known.erase(
          llvm::unique(known, [](const NamedStage &a,
                                 const NamedStage &b) { return a.inProgram == b.inProgram; }),
          known.end());
      refuse({step.stage, "", step.line},
             "there is no stage '" + step.stage + "'; there are " + listOf(known));
    }
    step.stage = found->second.inKernel;
    if (auto target = stages.find(step.target); step.kind == RecipeStep::Kind::ComputeAt &&
                                                target != stages.end() &&
                                                target->second.kernel == found->second.kernel)
      step.target = target->second.inKernel;
    recipes[found->second.kernel].steps.push_back(step);
    lines[found->second.kernel].push_back(step.line);
  }
  for (auto &[kernel, steps] : recipes)
    kernel->setAttr(kRecipeAttr, StringAttr::get(program.getContext(), steps.text()));
  for (auto &[kernel, places] : lines)
    setScheduleLines(program, kernelNameOf(kernel), places);
}

void attachToKernels(func::FuncOp program, ArrayRef<StageLine> lines) {
  std::vector<NamedStage> stages = namedStages(program);
  llvm::MapVector<Operation *, std::string> recipes;
  llvm::StringMap<int> seen;
  llvm::MapVector<Operation *, std::vector<int>> places;
  for (const StageLine &line : lines) {
    NamedStage stage = find(program, stages, line);
    int &first = seen[stage.inProgram];
    if (first)
      refuse(line,
             "stage '" + stage.inProgram + "' has a line already, line " + std::to_string(first));
    first = line.line;
    recipes[stage.kernel] += stage.inKernel + ": " + line.text + "\n";
    places[stage.kernel].push_back(line.line);
  }
  for (auto &[kernel, text] : recipes)
    kernel->setAttr(kRecipeAttr, StringAttr::get(program.getContext(), text));
  for (auto &[kernel, numbers] : places)
    setScheduleLines(program, kernelNameOf(kernel), numbers);
}

} // namespace headrace
