#include "optimize/Optimizer.h"

#include "driver/models/Gradient.h"
#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

#include "llvm/Support/xxhash.h"

#include "optimize/Follow.h"
#include "optimize/Matches.h"
#include "optimize/Measure.h"
#include "optimize/StepCheck.h"
#include "optimize/Structure.h"
#include "optimize/Whole.h"
#include "optimize/Window.h"
#include <map>
#include <tuple>

using namespace mlir;

namespace headrace::optimize {

namespace {

void add(RecipeDifference &all, const RecipeDifference &part, const std::string &prefix) {
  for (const std::string &line : part.removed)
    all.removed.push_back(prefix + line);
  for (const std::string &line : part.added)
    all.added.push_back(prefix + line);
}

/// The kernels that a step on a part is about.
std::vector<std::string> kernelsOf(const Step &step, const CompleteRecipe &recipe) {
  std::vector<std::string> kernels{recipe.kernelOf(step.subject())};
  if (step.choice && step.choice->hasOperatorAsObject())
    if (const std::string &other = recipe.kernelOf(step.choice->object); other != kernels.front())
      kernels.push_back(other);
  return kernels;
}

} // namespace

struct Optimizer::Impl {
  Impl(std::shared_ptr<Model> model, const Settings &settings, const Sizes &sizes,
       std::optional<GradientOptions> gradient)
      : model(std::move(model)), settings(settings), sizes(sizes), gradient(std::move(gradient)) {
    now = made(settings.recipe);
    beginHistory();
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
  uint64_t state = 0; // Transformation::state of the program as it is

  Whole made(const std::string &recipe);
  Whole split(const std::string &recipe);
  Place placeOf(const std::string &text);
  const Planner::Checkpoint *beforeKernels();
  void beginHistory();
  void hashRecipe();
  Transformation begun(const Place &place) const;
  void note(Transformation &result, RecipeDifference difference, const std::string &step) const;
  Transformation predict(const Place &place);
  std::optional<Transformation> predictNearby(const Place &place, Windows &windows);
  bool changesNothing(const Transformation &match) const {
    return match.isLegal() && match.state == state;
  }
  void predictPart(Transformation &result, const Place &place);
  void predictSplit(Transformation &result, const Step &step);
  void check(const Transformation &done);
  Transformation apply(const std::string &step, bool isChecked);
  void moveTo(size_t index);
  void beginUnfused();
};

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
    if (StringRef(text).starts_with(part.prefix()))
      return {Step::parse(text.substr(part.prefix().size())), &part};
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

/// The one program at level 1; null if there are two.
const Planner::Checkpoint *Optimizer::Impl::beforeKernels() {
  Part &part = now.parts.front();
  return gradient ? nullptr : part.planner->beforeKernels(frozen(part.plan.recipe));
}

void Optimizer::Impl::beginHistory() {
  history = {{"", now.recipe(), now.figures()}};
  current = 0;
  hashRecipe();
}

void Optimizer::Impl::hashRecipe() {
  RecipeDifference all = differenceOf(CompleteRecipe(), now.split);
  for (const Part &part : now.parts)
    add(all, differenceOf(CompleteRecipe(), part.plan.recipe), part.prefix());
  state = 0;
  for (const std::string &line : all.added)
    state ^= llvm::xxh3_64bits(line);
}

/// A step, and its match, before the step is predicted.
Transformation Optimizer::Impl::begun(const Place &place) const {
  Transformation result;
  result.step = (place.part ? place.part->prefix() : "") + place.step.line();
  result.verb = place.step.verb();
  result.before = result.after = history[current].figures;
  if (place.part)
    result.kernels = kernelsOf(place.step, place.part->plan.recipe);
  return result;
}

Transformation Optimizer::Impl::predict(const Place &place) {
  Transformation result = begun(place);
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

/// Plans only the kernels around the step; nullopt if they do not determine the prediction.
std::optional<Transformation> Optimizer::Impl::predictNearby(const Place &place, Windows &windows) {
  Transformation result = begun(place);
  try {
    std::optional<LocalPrediction> found = windows.predict(place.step);
    if (!found)
      return std::nullopt;
    result.refused = found->refused;
    if (!result.isLegal())
      return result;
    RecipeDifference difference;
    add(difference, found->difference, place.part->prefix());
    note(result, difference, place.part->prefix() + place.step.text());
    std::vector<const Figures *> figures;
    for (const Part &part : now.parts)
      figures.push_back(&part == place.part ? &found->after : &part.plan.figures);
    result.after = sumOf(figures);
  } catch (const Error &error) {
    result.refused = error.what();
  }
  return result;
}

/// Lines of the recipe that a step changes.
void Optimizer::Impl::note(Transformation &result, RecipeDifference difference,
                           const std::string &step) const {
  result.state = state;
  for (const std::vector<std::string> *lines : {&difference.removed, &difference.added})
    for (const std::string &line : *lines)
      result.state ^= llvm::xxh3_64bits(line);
  result.dropped = std::move(difference.removed);
  llvm::erase(difference.added, step);
  result.added = std::move(difference.added);
}

void Optimizer::Impl::predictPart(Transformation &result, const Place &place) {
  const Step &step = place.step;
  Part &part = *place.part;
  Plan after = followed([&](const std::string &recipe) { return part.planner->tried(recipe); },
                        part.plan, step);
  result.refused = reasonAgainst(step, after);
  if (!result.isLegal())
    return;
  RecipeDifference difference;
  add(difference, differenceOf(part.plan.recipe, after.recipe), part.prefix());
  note(result, std::move(difference), part.prefix() + step.text());
  // The recipe of all parts, with this one as it would be.
  std::swap(part.plan, after);
  result.after = now.figures();
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
    is.plan = is.frozen(was.plan.recipe);
    std::vector<std::string> changed = changedKernels(*was.plan.program, *is.plan.program);
    if (!changed.empty())
      is.plan = is.frozen(was.plan.recipe.withoutSchedules(changed));
    add(difference, differenceOf(was.plan.recipe, is.plan.recipe), was.prefix());
  }
  note(result, std::move(difference), step.text());
  result.after = after.figures();
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
void Optimizer::Impl::moveTo(size_t index) {
  const std::string &recipe = history[index].recipe;
  if (gradient)
    now = made(recipe);
  else
    now.parts.front().plan = now.parts.front().planner->plan(recipe);
  current = index;
  hashRecipe();
}

/// Each operator in a kernel of its own, each kernel with loops as they are written.
void Optimizer::Impl::beginUnfused() {
  for (Part &part : now.parts) {
    part.plan = part.frozen(part.plan.recipe.unfused());
    CompleteRecipe plain = part.plan.recipe;
    for (const Step &step : plainSchedules(part.plan, part.planner->targets()))
      plain = plain.with(step);
    part.plan = part.frozen(plain);
  }
  now = made(now.recipe()); // as the recipe says
  beginHistory();
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
  std::map<Part *, Windows> windows;
  for (Part &part : impl->now.parts)
    windows.try_emplace(&part, *part.planner, part.plan);
  std::vector<Transformation> found;
  for (size_t i = 0; i < matches.size(); ++i) {
    pollInterruption();
    if (progress)
      progress(i, matches.size());
    std::optional<Transformation> match;
    if (Part *part = matches[i].part)
      match = impl->predictNearby(matches[i], windows.at(part));
    if (!match)
      match = impl->predict(matches[i]);
    match->recipe.clear();
    if (!impl->changesNothing(*match))
      found.push_back(std::move(*match));
  }
  llvm::sort(found, [](const Transformation &a, const Transformation &b) {
    return std::tuple(!a.isLegal(), -a.savedMicroseconds(), a.step) <
           std::tuple(!b.isLegal(), -b.savedMicroseconds(), b.step);
  });
  return found;
}

std::vector<std::string> Optimizer::structureOf(const std::vector<std::string> &steps) const {
  const Planner::Checkpoint *program = impl->beforeKernels();
  if (!program)
    return {};
  std::vector<Step> parsed;
  for (const std::string &step : steps)
    parsed.push_back(Step::parse(step));
  return Structure(parsed, Operators(*program)).lines();
}

std::vector<std::vector<std::string>>
Optimizer::stepsByStructure(const std::vector<std::string> &steps,
                            const std::vector<std::string> &structure) const {
  const Planner::Checkpoint *program = impl->beforeKernels();
  if (!program || structure.empty())
    return {steps};
  Operators operators(*program);
  Structure wanted(structure);
  if (wanted.isNamedIn(operators))
    return {steps};
  std::vector<std::vector<std::string>> places;
  for (const Structure::Place &place : wanted.placesIn(operators)) {
    std::vector<std::string> &here = places.emplace_back();
    for (const Step &step : place.steps)
      here.push_back(step.line());
    for (const std::string &step : steps)
      here.push_back(renamed(Step::parse(step), place).line());
  }
  return places;
}

Transformation Optimizer::predict(const std::string &step) {
  return impl->predict(impl->placeOf(step));
}

uint64_t Optimizer::state() const { return impl->state; }

void Optimizer::beginUnfused() { impl->beginUnfused(); }

double Optimizer::predictedMicroseconds(const std::string &recipe) const {
  return impl->made(recipe).figures().microseconds;
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
