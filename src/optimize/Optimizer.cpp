#include "optimize/Optimizer.h"

#include "dialect/Hr.h"
#include "driver/RunPasses.h"
#include "driver/models/Gradient.h"
#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

#include "llvm/ADT/StringMap.h"

#include "optimize/Matches.h"
#include "optimize/Measure.h"
#include "optimize/StepCheck.h"
#include <tuple>

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
  return step.choice &&
         llvm::is_contained({StringRef(verbs::fold.name), StringRef(verbs::leave.name),
                             StringRef(verbs::layout.name), StringRef(verbs::expand.name)},
                            StringRef(step.choice->verb));
}

/// Kernels whose schedule in the recipe was refused.
std::vector<std::string> refusedKernels(const Plan &plan) {
  constexpr StringLiteral kKernel = "kernel ";
  std::vector<std::string> names;
  for (const MissedOptimization &missed : plan.explanation.missedOptimizations)
    if (StringRef step = missed.step; step.consume_front(kKernel))
      names.push_back(step.str());
  return names;
}

/// The program under a recipe that may leave choices open, or have schedules that kernels cannot
/// have any more: such kernels get the compiler's own.
Plan planFrozen(Planner &planner, const CompleteRecipe &recipe) {
  Plan plan = planner.plan(frozen(recipe));
  std::vector<std::string> refused = refusedKernels(plan);
  return refused.empty() ? std::move(plan) : planner.plan(frozen(recipe.withoutSchedules(refused)));
}

/// The program with the step. Schedules of kernels that it makes others are not theirs any more.
Plan followed(Planner &planner, const Plan &now, const Step &step) {
  CompleteRecipe wanted = now.recipe.with(step);
  Plan plan = planner.plan(frozen(wanted));
  std::vector<std::string> lost = refusedKernels(plan);
  if (step.kernel && llvm::is_contained(lost, step.kernel->name))
    return plan;
  if (changesOperators(step))
    llvm::append_range(lost, changedKernels(*now.program, *plan.program));
  return lost.empty() ? std::move(plan) : planFrozen(planner, wanted.withoutSchedules(lost));
}

/// Why the plan does not have what the step asks for; empty if it has.
std::string reasonAgainst(const Step &step, const Plan &plan) {
  if (step.kernel) {
    const ProgramRecipe::Kernel *made = plan.recipe.find(step.kernel->name);
    if (std::string reason = plan.reasonAgainst("kernel " + step.kernel->name); !reason.empty())
      return reason;
    return made && made->schedule.empty()
               ? "it leaves all loops as they are, which a recipe cannot say of a kernel"
               : "";
  }
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
  else if (choice.verb == verbs::slice.name)
    holds = reason.empty(); // all of them is not written
  if (holds)
    return "";
  return reason.empty() ? "the compiler makes no such choice for this program" : reason;
}

/// A program, or one of a program with gradients.
struct Part {
  std::string name; // empty for the only one
  std::unique_ptr<Planner> planner;
  Plan plan;
};

/// All that is compiled of a model, under one recipe.
struct Whole {
  CompleteRecipe split; // choices that are made before there are several parts
  std::vector<Part> parts;

  std::string recipe() const {
    if (parts.size() == 1)
      return parts.front().plan.recipe.text();
    std::string text = split.text();
    for (const Part &part : parts)
      text += part.name + ":\n" + part.plan.recipe.text();
    return text;
  }
};

Figures sumOf(const std::vector<const Plan *> &plans) {
  Figures sum = plans.front()->figures;
  for (const Plan *plan : ArrayRef(plans).drop_front()) {
    const Figures &figures = plan->figures;
    sum.microseconds += figures.microseconds;
    sum.bytes += figures.bytes;
    sum.operations += figures.operations;
    sum.kernels += figures.kernels;
    sum.peakBytes = sum.peakBytes && figures.peakBytes
                        ? std::optional(std::max(*sum.peakBytes, *figures.peakBytes))
                        : std::nullopt;
  }
  return sum;
}

/// The recipe without lines on how kernels are planned, which change no complete recipe.
std::string withoutPlanning(const std::string &recipe) {
  std::string text;
  for (StringRef line : llvm::split(recipe, '\n'))
    if (!line.starts_with(verbs::plan.name))
      text += line.str() + "\n";
  return text;
}

void add(RecipeDifference &all, const RecipeDifference &part, const std::string &prefix) {
  for (const std::string &line : part.removed)
    all.removed.push_back(prefix + line);
  for (const std::string &line : part.added)
    all.added.push_back(prefix + line);
}

std::string prefixOf(const Part &part) { return part.name.empty() ? "" : part.name + ": "; }

} // namespace

struct Optimizer::Impl {
  Impl(std::shared_ptr<Model> model, const Settings &settings, const Sizes &sizes,
       std::optional<GradientOptions> gradient)
      : model(std::move(model)), settings(settings), sizes(sizes), gradient(std::move(gradient)) {
    now = made(settings.recipe);
    history.push_back({"", now.recipe(), figuresOf(now)});
  }

  /// A step, and the part that it is about; none for one before programs are split.
  struct Place {
    Step step;
    Part *part;
  };

  std::shared_ptr<Model> model;
  Settings settings;
  Sizes sizes;
  std::optional<GradientOptions> gradient;
  Whole now;
  std::vector<State> history;
  size_t current = 0;

  static Figures figuresOf(const Whole &whole);
  Whole made(const std::string &recipe);
  Whole split(const std::string &recipe);
  Place placeOf(const std::string &text);
  Transformation predict(const Place &place);
  void predictPart(Transformation &result, const Place &place);
  void predictSplit(Transformation &result, const Step &step);
  void check(const Transformation &done);
  Transformation apply(const std::string &step, bool isChecked);
  void moveTo(size_t state);
  void beginUnfused();
};

Figures Optimizer::Impl::figuresOf(const Whole &whole) {
  std::vector<const Plan *> plans;
  for (const Part &part : whole.parts)
    plans.push_back(&part.plan);
  return sumOf(plans);
}

/// The programs before they are planned; with a gradient, split as the recipe says.
Whole Optimizer::Impl::split(const std::string &recipe) {
  Whole whole;
  auto add = [&](const char *name, LevelOneProgram program) {
    Part &part = whole.parts.emplace_back();
    part.name = name;
    part.planner = std::make_unique<Planner>(std::move(program), settings, sizes);
  };
  if (!gradient) {
    add("", model->copyOfProgram());
    return whole;
  }
  DirectionPrograms programs =
      splitByDirection(model->copyOfProgram(), *gradient, settings.target, recipe);
  whole.split = CompleteRecipe(programs.choices);
  add("forward", std::move(programs.forward));
  add("backward", std::move(programs.backward));
  return whole;
}

/// What is compiled of the model under a recipe, which is followed to the letter.
Whole Optimizer::Impl::made(const std::string &recipe) {
  GradientRecipe given = GradientRecipe::of(recipe);
  Whole whole = split(given.split);
  if (!gradient)
    whole.parts.front().plan = whole.parts.front().planner->plan(recipe);
  for (Part &part : whole.parts)
    if (gradient)
      part.plan = part.planner->plan(part.name == "forward" ? given.forward : given.backward);
  return whole;
}

Optimizer::Impl::Place Optimizer::Impl::placeOf(const std::string &text) {
  if (!gradient)
    return {Step::parse(text), &now.parts.front()};
  for (Part &part : now.parts)
    if (StringRef(text).starts_with(prefixOf(part)))
      return {Step::parse(text.substr(prefixOf(part).size())), &part};
  Step step = Step::parse(text);
  if (!step.choice ||
      !llvm::is_contained({StringRef(verbs::keep.name), StringRef(verbs::recompute.name),
                           StringRef(verbs::layout.name)},
                          StringRef(step.choice->verb)))
    throw Error(ErrorKind::InvalidArgument,
                "step '" + step.line() +
                    "': expected 'forward: ' or 'backward: ' before a step on "
                    "one of the two programs");
  return {step, nullptr};
}

Transformation Optimizer::Impl::predict(const Place &place) {
  Transformation result;
  result.step = (place.part ? prefixOf(*place.part) : "") + place.step.line();
  result.verb = place.step.verb();
  result.before = result.after = history[current].figures;
  try {
    if (place.part)
      predictPart(result, place);
    else
      predictSplit(result, place.step);
  } catch (const Error &error) {
    result.refused = error.what();
  } catch (const InternalError &error) {
    result.refused = error.what();
  }
  return result;
}

void Optimizer::Impl::predictPart(Transformation &result, const Place &place) {
  const Step &step = place.step;
  Part &part = *place.part;
  const CompleteRecipe &before = part.plan.recipe;
  result.kernels.push_back(before.kernelOf(step.subject()));
  if (step.choice && step.choice->hasOperatorAsObject())
    if (const std::string &other = before.kernelOf(step.choice->object);
        other != result.kernels.front())
      result.kernels.push_back(other);
  Plan after = followed(*part.planner, part.plan, step);
  result.refused = reasonAgainst(step, after);
  if (!result.isLegal())
    return;
  RecipeDifference difference;
  add(difference, differenceOf(before, after.recipe), prefixOf(part));
  result.dropped = difference.removed;
  llvm::erase(difference.added, prefixOf(part) + step.text());
  result.added = difference.added;
  // The recipe of all parts, with this one as it would be.
  std::swap(part.plan, after);
  result.after = figuresOf(now);
  result.recipe = now.recipe();
  std::swap(part.plan, after);
}

/// Both programs are made anew, and keep the lines that still have an object.
void Optimizer::Impl::predictSplit(Transformation &result, const Step &step) {
  Whole after = split(frozenBeforeSplit(now.split.with(step)));
  if (!after.split.has(*step.choice)) {
    result.refused = "the compiler makes no such choice for this program";
    return;
  }
  RecipeDifference difference = differenceOf(now.split, after.split);
  for (auto [was, is] : llvm::zip_equal(now.parts, after.parts)) {
    is.plan = planFrozen(*is.planner, was.plan.recipe);
    std::vector<std::string> changed = changedKernels(*was.plan.program, *is.plan.program);
    if (!changed.empty())
      is.plan = planFrozen(*is.planner, was.plan.recipe.withoutSchedules(changed));
    add(difference, differenceOf(was.plan.recipe, is.plan.recipe), prefixOf(was));
  }
  result.dropped = difference.removed;
  llvm::erase(difference.added, step.text());
  result.added = difference.added;
  result.after = figuresOf(after);
  result.recipe = after.recipe();
}

/// Compiles the programs that a step changes, and compares what they compute.
void Optimizer::Impl::check(const Transformation &done) {
  Whole after = made(done.recipe);
  for (auto [was, is] : llvm::zip_equal(now.parts, after.parts))
    if (!differenceOf(was.plan.recipe, is.plan.recipe).isEmpty() ||
        placeOf(done.step).part == nullptr)
      checkStep(done.step, {was.planner->program(), was.plan.recipe.text()},
                {is.planner->program(), is.plan.recipe.text()}, settings,
                is.plan.figures.operations);
}

Transformation Optimizer::Impl::apply(const std::string &text, bool isChecked) {
  Transformation done = predict(placeOf(text));
  if (!done.isLegal())
    throw Error(ErrorKind::InvalidArgument, "step '" + done.step + "': " + done.refused);
  if (isChecked)
    check(done);
  std::vector<State> undone(history.begin() + static_cast<long>(current) + 1, history.end());
  history.resize(current + 1);
  history.push_back({done.step, done.recipe, done.after});
  try {
    moveTo(current + 1);
  } catch (...) {
    history.pop_back();
    llvm::append_range(history, undone);
    throw;
  }
  return done;
}

/// A state is what its recipe says: it is followed from the start and to the letter.
void Optimizer::Impl::moveTo(size_t state) {
  const std::string &recipe = history[state].recipe;
  if (gradient)
    now = made(recipe);
  else
    now.parts.front().plan = now.parts.front().planner->plan(recipe);
  current = state;
}

/// Each operator in a kernel of its own, each kernel with loops as they are written.
void Optimizer::Impl::beginUnfused() {
  for (Part &part : now.parts) {
    part.plan = planFrozen(*part.planner, part.plan.recipe.unfused());
    CompleteRecipe plain = part.plan.recipe;
    for (const Step &step : plainSchedules(part.plan, part.planner->targets()))
      plain = plain.with(step);
    part.plan = planFrozen(*part.planner, plain);
  }
  now = made(now.recipe()); // as the recipe says
  history = {{"", now.recipe(), figuresOf(now)}};
}

Optimizer::Optimizer(std::shared_ptr<Model> model, const Settings &settings, const Sizes &sizes)
    : impl(std::make_unique<Impl>(std::move(model), settings, sizes, std::nullopt)) {}

Optimizer::Optimizer(std::shared_ptr<Model> model, const Settings &settings, const Sizes &sizes,
                     const GradientOptions &gradient)
    : impl(std::make_unique<Impl>(std::move(model), settings, sizes, gradient)) {}

Optimizer::~Optimizer() = default;
Optimizer::Optimizer(Optimizer &&) noexcept = default;

const std::string &Optimizer::recipe() const { return impl->history[impl->current].recipe; }
const Figures &Optimizer::figures() const { return impl->history[impl->current].figures; }
const std::vector<State> &Optimizer::states() const { return impl->history; }
size_t Optimizer::position() const { return impl->current; }

std::vector<Transformation> Optimizer::list(const Progress &progress, const std::string &verb) {
  std::vector<Impl::Place> matches;
  for (const Step &step : matchesBeforeSplit(impl->now.split))
    matches.push_back({step, nullptr});
  for (Part &part : impl->now.parts)
    for (const Step &step : matchesIn(part.plan, part.planner->targets()))
      matches.push_back({step, &part});
  if (!verb.empty())
    llvm::erase_if(matches, [&](const Impl::Place &each) { return each.step.verb() != verb; });
  std::vector<Transformation> found;
  for (size_t i = 0; i < matches.size(); ++i) {
    pollInterruption();
    if (progress)
      progress(i, matches.size());
    Transformation match = impl->predict(matches[i]);
    if (!match.isLegal() || withoutPlanning(match.recipe) != withoutPlanning(recipe()))
      found.push_back(std::move(match));
  }
  llvm::sort(found, [](const Transformation &a, const Transformation &b) {
    return std::tuple(!a.isLegal(), -a.savedMicroseconds(), a.step) <
           std::tuple(!b.isLegal(), -b.savedMicroseconds(), b.step);
  });
  return found;
}

Transformation Optimizer::predict(const std::string &step) {
  return impl->predict(impl->placeOf(step));
}

void Optimizer::beginUnfused() { impl->beginUnfused(); }

double Optimizer::predictedMicroseconds(const std::string &recipe) const {
  return Impl::figuresOf(impl->made(recipe)).microseconds;
}

std::unique_ptr<CompiledRecipes>
Optimizer::compiled(const std::vector<std::string> &recipes) const {
  auto result = std::make_unique<CompiledRecipes>();
  for (const std::string &recipe : recipes) {
    std::vector<CheckedProgram> programs;
    for (const Part &part : impl->made(recipe).parts)
      programs.push_back({part.planner->program(), part.plan.recipe.text()});
    result->add(std::move(programs), impl->settings);
  }
  return result;
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
