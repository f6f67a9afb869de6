#include "optimize/Optimizer.h"

#include "dialect/Hr.h"
#include "driver/RunPasses.h"
#include "optimize/Matches.h"
#include "optimize/StepCheck.h"
#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace headrace::optimize {

namespace {

/// Kernels of a program by name, as text that does not depend on the names of modules.
llvm::StringMap<std::string> kernelsOf(ModuleOp program) {
  llvm::StringMap<std::string> kernels;
  for (auto launch : entryFunction(program).getOps<hr::LaunchOp>()) {
    auto module = program.lookupSymbol<ModuleOp>(launch.getKernel());
    std::string text, own = module.getSymName()->str();
    for (Operation &op : *module.getBody())
      text += printed(&op);
    for (size_t at = 0; (at = text.find("@" + own, at)) != std::string::npos;)
      text.replace(at, own.size() + 1, "@kernel");
    kernels[kernelNameOf(launch)] = text;
  }
  return kernels;
}

/// Kernels that both programs have, with other contents.
std::vector<std::string> changedKernels(ModuleOp before, ModuleOp after) {
  llvm::StringMap<std::string> were = kernelsOf(before), are = kernelsOf(after);
  std::vector<std::string> changed;
  for (auto launch : entryFunction(before).getOps<hr::LaunchOp>()) {
    std::string name = kernelNameOf(launch);
    auto now = are.find(name);
    if (now != are.end() && now->second != were[name] && !llvm::is_contained(changed, name))
      changed.push_back(name);
  }
  return changed;
}

/// Level 1 follows steps with these verbs: what they change is only known of the kernels.
bool changesOperators(const Step &step) {
  return step.choice && llvm::is_contained({StringRef(verbs::fold.name), StringRef(verbs::leave.name),
                                            StringRef(verbs::layout.name),
                                            StringRef(verbs::expand.name)},
                                           StringRef(step.choice->verb));
}

} // namespace

struct Optimizer::Impl {
  Impl(std::shared_ptr<Model> model, const Settings &settings, const Sizes &sizes)
      : model(std::move(model)), settings(settings), sizes(sizes),
        planner(this->model->copyOfProgram(), settings, sizes) {}

  std::shared_ptr<Model> model;
  Settings settings;
  Sizes sizes;
  Planner planner;
  Plan now;
  std::vector<State> history;
  size_t current = 0;

  Plan planned(const CompleteRecipe &recipe) { return planner.plan(frozen(recipe)); }
  Plan followed(const Step &step);
  std::string reasonAgainst(const Step &step, const Plan &plan) const;
  void describe(Transformation &result, const Step &step, const Plan &after) const;
  Transformation predict(const Step &step);
  Transformation apply(const std::string &step, bool isChecked);
  void moveTo(size_t state);
};

/// The program with the step. Schedules of kernels that it makes others are not theirs any more.
Plan Optimizer::Impl::followed(const Step &step) {
  CompleteRecipe wanted = now.recipe.with(step);
  Plan plan = planned(wanted);
  if (!changesOperators(step))
    return plan;
  std::vector<std::string> changed = changedKernels(*now.program, *plan.program);
  return changed.empty() ? std::move(plan) : planned(wanted.withoutSchedules(changed));
}

/// Why the plan does not have what the step asks for; empty if it has.
std::string Optimizer::Impl::reasonAgainst(const Step &step, const Plan &plan) const {
  if (step.kernel)
    return plan.reasonAgainst("kernel " + step.kernel->name);
  const ProgramStep &choice = *step.choice;
  std::string reason = plan.reasonAgainst(choice.text());
  const CompleteRecipe &after = plan.recipe;
  const std::string &kernel = after.kernelOf(choice.subject);
  bool holds = after.has(choice);
  if (choice.verb == verbs::fuse.name || choice.verb == verbs::merge.name)
    holds = kernel == after.kernelOf(choice.object);
  else if (choice.verb == verbs::separate.name)
    holds = kernel == choice.subject && after.othersIn(choice.subject).empty() && reason.empty();
  else if (choice.verb == verbs::leave.name)
    holds = !after.objectOf(verbs::fold.name, choice.subject) && reason.empty();
  else if (choice.verb == verbs::walk.name && choice.object == "nothing")
    holds = !after.objectOf(verbs::walk.name, choice.subject) && reason.empty();
  else if (choice.verb == verbs::pack.name && choice.object == "1")
    holds = !after.objectOf(verbs::pack.name, choice.subject) && reason.empty();
  else if (choice.verb == verbs::slice.name)
    holds = reason.empty(); // all of them is not written
  if (holds)
    return "";
  return reason.empty() ? "the compiler makes no such choice for this program" : reason;
}

/// What is different after a step.
void Optimizer::Impl::describe(Transformation &result, const Step &step, const Plan &after) const {
  RecipeDifference difference = differenceOf(now.recipe, after.recipe);
  std::string own = step.text();
  result.dropped = difference.removed;
  for (const std::string &line : difference.added)
    if (line != own)
      result.added.push_back(line);
  result.after = after.figures;
  result.recipe = after.recipe.text();
}

Transformation Optimizer::Impl::predict(const Step &step) {
  Transformation result;
  result.step = step.line();
  result.verb = step.verb();
  result.before = result.after = now.figures;
  result.kernels.push_back(now.recipe.kernelOf(step.subject()));
  if (step.choice && step.choice->hasOperatorAsObject())
    if (const std::string &other = now.recipe.kernelOf(step.choice->object);
        other != result.kernels.front())
      result.kernels.push_back(other);
  try {
    Plan after = followed(step);
    result.refused = reasonAgainst(step, after);
    if (result.isLegal())
      describe(result, step, after);
  } catch (const Error &error) {
    result.refused = error.what();
  } catch (const InternalError &error) {
    result.refused = error.what();
  }
  return result;
}

Transformation Optimizer::Impl::apply(const std::string &text, bool isChecked) {
  Transformation done = predict(Step::parse(text));
  if (!done.isLegal())
    throw Error(ErrorKind::InvalidArgument, "step '" + done.step + "': " + done.refused);
  if (isChecked)
    checkStep(*model, settings, sizes, done, history[current].recipe);
  history.resize(current + 1);
  history.push_back({done.step, done.recipe, done.after});
  moveTo(current + 1);
  return done;
}

/// The recipe is followed from the start and to the letter: a state is what its recipe says.
void Optimizer::Impl::moveTo(size_t state) {
  now = planner.plan(history[state].recipe);
  current = state;
}

Optimizer::Optimizer(std::shared_ptr<Model> model, const Settings &settings, const Sizes &sizes)
    : impl(std::make_unique<Impl>(std::move(model), settings, sizes)) {
  impl->now = impl->planner.plan(settings.recipe);
  impl->history.push_back({"", impl->now.recipe.text(), impl->now.figures});
}

Optimizer::~Optimizer() = default;

const std::string &Optimizer::recipe() const { return impl->history[impl->current].recipe; }
const Figures &Optimizer::figures() const { return impl->history[impl->current].figures; }
const std::vector<State> &Optimizer::states() const { return impl->history; }
size_t Optimizer::position() const { return impl->current; }

std::vector<Transformation> Optimizer::list(const Progress &progress) {
  std::vector<Step> matches = matchesIn(impl->now, impl->planner.targets());
  std::vector<Transformation> found;
  for (size_t i = 0; i < matches.size(); ++i) {
    pollInterruption();
    if (progress)
      progress(i, matches.size());
    Transformation match = impl->predict(matches[i]);
    bool changesNothing =
        differenceOf(impl->now.recipe, CompleteRecipe(match.recipe)).isEmpty();
    if (!match.isLegal() || !changesNothing)
      found.push_back(std::move(match));
  }
  llvm::stable_sort(found, [](const Transformation &a, const Transformation &b) {
    if (a.isLegal() != b.isLegal())
      return a.isLegal();
    return a.isLegal() && a.savedMicroseconds() > b.savedMicroseconds();
  });
  return found;
}

Transformation Optimizer::predict(const std::string &step) {
  return impl->predict(Step::parse(step));
}

Transformation Optimizer::apply(const std::string &step) {
  return impl->apply(step, /*isChecked=*/true);
}

Transformation Optimizer::applyUnchecked(const std::string &step) {
  return impl->apply(step, /*isChecked=*/false);
}

bool Optimizer::undo() {
  if (impl->current == 0)
    return false;
  impl->moveTo(impl->current - 1);
  return true;
}

bool Optimizer::redo() {
  if (impl->current + 1 == impl->history.size())
    return false;
  impl->moveTo(impl->current + 1);
  return true;
}

std::string differenceBetween(const std::string &recipe, const std::string &other) {
  return text(differenceOf(CompleteRecipe(recipe), CompleteRecipe(other)));
}

} // namespace headrace::optimize
