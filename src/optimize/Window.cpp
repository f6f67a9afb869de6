#include "optimize/Window.h"

#include "dialect/Hr.h"
#include "driver/RunPasses.h"
#include "runtime/system/Error.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

#include "optimize/Cut.h"
#include "optimize/Operators.h"
#include "optimize/SliceStep.h"
#include <set>

using namespace mlir;

namespace headrace::optimize {

using Names = std::set<std::string>;

namespace {

/// How often a window is made larger because a step changed a neighbour.
constexpr int kRounds = 3;

/// Whether level 1 may follow the step: the operators may be others then.
bool mayChangeOperators(const Step &step, const Operators &operators) {
  if (!step.choice)
    return false;
  StringRef verb = step.choice->verb;
  return verb == verbs::fold.name || verb == verbs::leave.name || verb == verbs::layout.name ||
         (verb == verbs::expand.name && !operators.ops.contains(step.subject()));
}

} // namespace

struct Windows::Impl {
  Impl(Planner &planner, const Plan &now)
      : planner(planner), now(now), kernels(now.recipe.parts()) {
    if (const Planner::Checkpoint *checkpoint = planner.beforeKernels(frozen(now.recipe)))
      operators.emplace(*checkpoint);
    for (const ProgramStep &step : now.recipe.parts().steps)
      if (step.verb == verbs::slice.name)
        operators.reset(); // kernels far apart run together
    findNeighbours();
    findPlaces();
  }

  /// The program around some kernels, planned as it is.
  struct Part {
    Names around; // kernels and their neighbours
    Cut cut;
    Plan plan;
  };

  std::optional<LocalPrediction> predict(const Step &step);
  std::optional<LocalPrediction> predictIn(const Names &inner, const Step &step,
                                           const Operators &after, bool changesOperators,
                                           Names &changed);

  void findNeighbours();
  void findPlaces();
  Names kernelsOf(const Step &step) const;
  Names withNeighbours(const Names &inner) const;
  Names changedKernels(const Operators &after) const;
  void addKernelsAround(Operation *op, const OperatorNames &names, Names &found) const;
  llvm::DenseSet<Operation *> membersIn(const Names &around, const Operators &of) const;
  std::optional<Cut> cut(const Names &around, const Operators &of, bool keepsChoices) const;
  ProgramRecipe linesAbout(const Names &around, const CompleteRecipe &recipe) const;
  const Part *partAround(const Names &around, bool keepsChoices);

  Planner &planner;
  const Plan &now;
  KernelsOfOperators kernels;
  std::optional<Operators> operators; // nothing if windows cannot be cut out
  llvm::StringMap<Names> neighbours;  // of kernels
  llvm::StringMap<double> places;     // of operators and the kernels called after them
  std::map<std::pair<Names, bool>, std::optional<Part>> parts;
};

/// Kernels that read each other's results.
void Windows::Impl::findNeighbours() {
  const Program &program = now.sequence.program;
  std::vector<std::string> producers(program.buffers.size());
  for (auto [i, step] : llvm::enumerate(program.steps)) {
    std::string own = kernels.around(step.name);
    for (int buffer : step.operands) {
      const BufferInfo &info = program.buffers[buffer];
      bool isComputed =
          info.kind == BufferInfo::Kind::Temporary || info.kind == BufferInfo::Kind::Output;
      if (!isComputed)
        continue;
      std::string &producer = producers[buffer];
      if (producer.empty()) {
        producer = own;
      } else if (producer != own) {
        neighbours[producer].insert(own);
        neighbours[own].insert(producer);
      }
    }
  }
}

/// A kernel is where the last of its operators is.
void Windows::Impl::findPlaces() {
  if (!operators)
    return;
  for (auto [i, op] : llvm::enumerate(operators->inOrder))
    places[operators->names.of(op)] = static_cast<double>(i);
}

Names Windows::Impl::kernelsOf(const Step &step) const {
  Names found;
  auto add = [&](const std::string &op) {
    std::string kernel = kernels.around(op);
    if (!kernel.empty())
      found.insert(kernel);
  };
  add(step.subject());
  if (step.choice && step.choice->hasOperatorAsObject())
    add(step.choice->object);
  return found;
}

Names Windows::Impl::withNeighbours(const Names &inner) const {
  Names around = inner;
  for (const std::string &kernel : inner)
    if (auto found = neighbours.find(kernel); found != neighbours.end())
      around.insert(found->second.begin(), found->second.end());
  return around;
}

/// The kernels that compute the operator or, if it is in none, what it reads and what reads it.
void Windows::Impl::addKernelsAround(Operation *op, const OperatorNames &names,
                                     Names &found) const {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> waiting{op};
  while (!waiting.empty()) {
    Operation *next = waiting.pop_back_val();
    if (!next || !seen.insert(next).second || names.of(next).empty())
      continue;
    if (StringRef kernel = kernels.of(names.of(next)); !kernel.empty()) {
      found.insert(kernel.str());
      continue;
    }
    for (Value operand : next->getOperands())
      waiting.push_back(operand.getDefiningOp());
    llvm::append_range(waiting, next->getUsers());
  }
}

/// The kernels that operators which a step changed, made or removed are in or next to.
Names Windows::Impl::changedKernels(const Operators &after) const {
  Names found;
  for (Operation *op : after.inOrder) {
    auto before = operators->ops.find(after.names.of(op));
    if (before == operators->ops.end() ||
        !areEqual(before->second, operators->names, op, after.names))
      addKernelsAround(op, after.names, found);
  }
  for (Operation *op : operators->inOrder)
    if (!after.ops.contains(operators->names.of(op)))
      addKernelsAround(op, operators->names, found);
  return found;
}

/// The operators of kernels, with views and what else is in no kernel on the way to them.
llvm::DenseSet<Operation *> Windows::Impl::membersIn(const Names &around,
                                                     const Operators &of) const {
  llvm::DenseSet<Operation *> members;
  SmallVector<Operation *> waiting;
  for (Operation *op : of.inOrder) {
    StringRef name = of.names.of(op), kernel = kernels.of(name);
    bool isNew = !operators->ops.contains(name);
    if (around.contains(kernel.str()) || isNew)
      waiting.push_back(op);
  }
  while (!waiting.empty()) {
    Operation *op = waiting.pop_back_val();
    if (!members.insert(op).second)
      continue;
    // Operators that are told apart by numbers keep them if all are there.
    if (auto alike = of.numbered.find(of.unnumbered(op)); alike != of.numbered.end())
      llvm::append_range(waiting, alike->second);
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && !isa<hr::ConstantOp>(producer) && kernels.of(of.names.of(producer)).empty())
        waiting.push_back(producer);
  }
  return members;
}

std::optional<Cut> Windows::Impl::cut(const Names &around, const Operators &of,
                                      bool keepsChoices) const {
  func::FuncOp entry = of.entry;
  auto kernelOf = [&](Operation *op) { return kernels.of(of.names.of(op)); };
  // A kernel that writes padding has one result, the image with its padding.
  auto holderOf = [&](Operation *op) -> Operation * {
    StringRef kernel = kernelOf(op);
    if (kernel.empty() && operators->ops.contains(of.names.of(op)))
      return nullptr;
    for (Operation *user : op->getUsers())
      if (isa<hr::PadOp>(user) && kernelOf(user) == kernel && !kernel.empty())
        return user;
    return op;
  };
  std::optional<Cut> result = cutOut(entry, of.names, membersIn(around, of), holderOf);
  if (!result)
    return std::nullopt;
  func::FuncOp function = entryFunction(*result->program);
  if (!keepsChoices) {
    function->removeAttr(kChoicesAttr);
    function->removeAttr(kWhyNotAttr);
  }
  return result;
}

/// What a recipe says of the operators of some kernels.
ProgramRecipe Windows::Impl::linesAbout(const Names &around, const CompleteRecipe &recipe) const {
  ProgramRecipe lines;
  auto isInside = [&](const std::string &op) { return around.contains(kernels.around(op)); };
  for (const ProgramStep &step : recipe.parts().steps)
    if (isInside(step.subject))
      lines.steps.push_back(step);
  for (const ProgramRecipe::Kernel &kernel : recipe.parts().kernels)
    if (isInside(kernel.name))
      lines.kernels.push_back(kernel);
  return lines;
}

/// The window around kernels as it is; null if it does not have the kernels of the program.
const Windows::Impl::Part *Windows::Impl::partAround(const Names &around, bool keepsChoices) {
  auto [known, isNew] = parts.try_emplace({around, keepsChoices});
  if (!isNew)
    return known->second ? &*known->second : nullptr;
  std::optional<Cut> own = cut(around, *operators, keepsChoices);
  if (!own)
    return nullptr;
  ProgramRecipe lines = linesAbout(around, now.recipe);
  Plan plan = planner.planPart(OwningOpRef<ModuleOp>(own->program->clone()), operators->followed,
                               ProgramRecipe::parse(frozen(CompleteRecipe(lines.text()))));
  known->second = Part{around, std::move(*own), std::move(plan)};
  return &*known->second;
}

std::optional<LocalPrediction> Windows::Impl::predictIn(const Names &inner, const Step &step,
                                                        const Operators &after,
                                                        bool changesOperators, Names &changed) {
  Names around = withNeighbours(inner);
  const Part *part = partAround(around, changesOperators);
  if (!part)
    return std::nullopt;
  std::optional<Cut> own;
  if (changesOperators) {
    own = cut(around, after, true);
    if (!own || own->inputs != part->cut.inputs || own->outputs != part->cut.outputs ||
        entryFunction(*own->program).getFunctionType() !=
            entryFunction(*part->cut.program).getFunctionType()) {
      changed = around;
      return std::nullopt;
    }
  }
  const Cut &with = own ? *own : part->cut;
  Plan plan = followed(
      [&](const std::string &recipe) {
        return planner.planPart(OwningOpRef<ModuleOp>(with.program.get().clone()), after.followed,
                                ProgramRecipe::parse(recipe));
      },
      part->plan, step);
  LocalPrediction result;
  result.refused = reasonAgainst(step, plan);
  if (!result.refused.empty())
    return result;

  llvm::StringSet<> kept;
  for (const headrace::Step &each : part->plan.sequence.program.steps) {
    std::string kernel = kernels.around(each.name);
    const ProgramRecipe::Kernel *before = part->plan.recipe.find(each.name);
    const ProgramRecipe::Kernel *then = plan.recipe.find(each.name);
    bool isSame = (before ? before->schedule : "") == (then ? then->schedule : "");
    if (inner.contains(kernel)) {
      const ProgramRecipe::Kernel *whole = now.recipe.find(each.name);
      if ((before ? before->schedule : "") != (whole ? whole->schedule : ""))
        return std::nullopt;
      continue;
    }
    kept.insert(each.name);
    if (!isSame || !plan.sequence.find(each.name))
      changed.insert(kernel);
  }
  if (!changed.empty())
    return std::nullopt;

  llvm::StringMap<double> placesAfter = places;
  if (changesOperators) {
    double place = -1;
    for (Operation *op : after.inOrder) {
      auto known = places.find(after.names.of(op));
      place = known == places.end() ? place + 1e-4 : known->second;
      placesAfter[after.names.of(op)] = place;
    }
  }
  // A kernel is where the last of its operators is, before and after.
  llvm::StringMap<double> placesOfSteps;
  auto findPlacesOf = [&](const CompleteRecipe &recipe) {
    auto add = [&](const std::string &kernel, const std::string &op) {
      if (auto place = placesAfter.find(op); place != placesAfter.end()) {
        auto [known, isNew] = placesOfSteps.try_emplace(kernel, place->second);
        if (!isNew)
          known->second = std::max(known->second, place->second);
      }
    };
    for (const ProgramRecipe::Kernel &kernel : recipe.parts().kernels)
      add(kernel.name, kernel.name);
    for (const ProgramStep &line : recipe.parts().steps)
      if (line.verb == verbs::fuse.name)
        add(line.object, line.subject);
  };
  findPlacesOf(now.recipe);
  for (const headrace::Step &each : plan.sequence.program.steps)
    if (!kept.contains(each.name)) {
      placesOfSteps.erase(each.name);
      if (auto place = placesAfter.find(each.name); place != placesAfter.end())
        placesOfSteps[each.name] = place->second;
    }
  findPlacesOf(plan.recipe);
  std::optional<Sequence> sequence =
      spliced(now.sequence, {part->plan.sequence, plan.sequence, kept, placesOfSteps});
  if (!sequence)
    return std::nullopt;
  result.difference = differenceOf(part->plan.recipe, plan.recipe);
  result.after = sequence->figures(planner.targets());
  return result;
}

std::optional<LocalPrediction> Windows::Impl::predict(const Step &step) {
  if (step.choice && step.choice->verb == verbs::slice.name) {
    Plan sliced = withSlices(now, *step.choice, planner.targets());
    std::string refused = reasonAgainst(step, sliced);
    return LocalPrediction{refused, differenceOf(now.recipe, sliced.recipe), now.figures};
  }
  if (!operators)
    return std::nullopt;
  Names inner = kernelsOf(step);
  bool changesOperators = mayChangeOperators(step, *operators);
  std::optional<Operators> after;
  if (changesOperators) {
    after.emplace(planner.beforeKernelsUnder(frozen(now.recipe.with(step))));
    Names changed = changedKernels(*after);
    if (!step.choice || !operators->ops.contains(step.subject()))
      inner.clear(); // the operator is gone
    inner.insert(changed.begin(), changed.end());
  }
  for (int round = 0; round < kRounds; ++round) {
    if (inner.empty() || 2 * inner.size() > std::max<size_t>(8, now.recipe.parts().kernels.size()))
      return std::nullopt;
    Names changed;
    std::optional<LocalPrediction> found =
        predictIn(inner, step, after ? *after : *operators, changesOperators, changed);
    if (found || changed.empty())
      return found;
    inner.insert(changed.begin(), changed.end());
  }
  return std::nullopt;
}

Windows::Windows(Planner &planner, const Plan &now) : impl(std::make_unique<Impl>(planner, now)) {}
Windows::~Windows() = default;

std::optional<LocalPrediction> Windows::predict(const Step &step) {
  try {
    return impl->predict(step);
  } catch (const InternalError &) {
    return std::nullopt; // the part is not a program by itself
  }
}

} // namespace headrace::optimize
