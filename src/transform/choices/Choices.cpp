#include "transform/choices/Choices.h"

#include "runtime/system/Error.h"
#include "transform/choices/RecipePlace.h"
#include "transform/choices/Verbs.h"

using namespace mlir;

namespace headrace {
namespace {

constexpr StringLiteral kGivenAttr = "hr.given", kGivenKernelsAttr = "hr.given_kernels";
constexpr StringLiteral kWherePossibleAttr = "hr.where_possible";
constexpr StringLiteral kScheduleLinesAttr = "hr.schedule_lines";

// [line, verb, subject, object] each; kernels have [line, name, schedule, lines of the schedule].
Attribute asAttribute(Builder &b, int line, ArrayRef<StringRef> words, Attribute more = {}) {
  SmallVector<Attribute> parts{b.getI64IntegerAttr(line)};
  for (StringRef word : words)
    parts.push_back(b.getStringAttr(word));
  if (more)
    parts.push_back(more);
  return b.getArrayAttr(parts);
}

int lineOf(ArrayAttr entry) { return static_cast<int>(cast<IntegerAttr>(entry[0]).getInt()); }
std::string wordOf(ArrayAttr entry, unsigned i) { return cast<StringAttr>(entry[i]).str(); }

void setOrRemove(func::FuncOp program, StringRef name, ArrayRef<Attribute> entries) {
  if (entries.empty())
    program->removeAttr(name);
  else
    program->setAttr(name, ArrayAttr::get(program.getContext(), entries));
}

void append(func::FuncOp program, StringRef name, ArrayRef<Attribute> entries) {
  SmallVector<Attribute> all;
  if (auto before = program->getAttrOfType<ArrayAttr>(name))
    llvm::append_range(all, before);
  llvm::append_range(all, entries);
  setOrRemove(program, name, all);
}

template <class Steps> void writeSteps(func::FuncOp program, const Steps &steps) {
  Builder b(program.getContext());
  SmallVector<Attribute> entries;
  for (const ProgramStep &step : steps)
    entries.push_back(asAttribute(b, step.line, {step.verb, step.subject, step.object}));
  setOrRemove(program, kGivenAttr, entries);
}

void writeKernels(func::FuncOp program, ArrayRef<ProgramRecipe::Kernel> kernels) {
  Builder b(program.getContext());
  SmallVector<Attribute> entries;
  for (const ProgramRecipe::Kernel &kernel : kernels)
    entries.push_back(asAttribute(b, kernel.line, {kernel.name, kernel.schedule},
                                  b.getDenseI32ArrayAttr(kernel.lines)));
  setOrRemove(program, kGivenKernelsAttr, entries);
}

/// Whether two steps on one subject cannot both be followed.
bool contradict(const ProgramStep &a, const ProgramStep &b) {
  const Verb &one = *findVerb(a.verb), &other = *findVerb(b.verb);
  if (one.excludes == other.name || other.excludes == one.name)
    return true;
  return one.isOneChoice && a.verb == b.verb && a.object != b.object;
}

/// A step that says otherwise than one before it is rejected. One that says the same is dropped:
/// the first is followed for all operators that it speaks of.
std::vector<ProgramStep> withoutContradictions(func::FuncOp program,
                                               const std::vector<ProgramStep> &steps) {
  std::vector<ProgramStep> kept;
  llvm::StringMap<SmallVector<size_t>> bySubject;
  for (const ProgramStep &step : steps) {
    SmallVector<size_t> &others = bySubject[step.subject];
    auto isBefore = [&](auto test) {
      auto found = llvm::find_if(others, [&](size_t i) { return test(kept[i], step); });
      return found == others.end() ? nullptr : &kept[*found];
    };
    if (isBefore([](const ProgramStep &a, const ProgramStep &b) { return a.text() == b.text(); }))
      continue;
    if (const ProgramStep *before = isBefore(contradict)) {
      std::string reason =
          "line " + std::to_string(before->line) + " says otherwise: '" + before->text() + "'";
      if (!followsWherePossible(program))
        throw Error(ErrorKind::InvalidArgument,
                    placeInRecipe(step.line) + ": '" + step.text() + "': " + reason);
      noteMissedOptimization(program, step.text(), reason);
      continue;
    }
    others.push_back(kept.size());
    kept.push_back(step);
  }
  return kept;
}

} // namespace

void giveRecipe(func::FuncOp program, const ProgramRecipe &recipe) {
  std::vector<ProgramStep> steps;
  for (const ProgramStep &step : recipe.steps) {
    StringRef kind = step.subject;
    if (kind.consume_front(kEvery))
      if (std::string fault = faultOfKind(kind, program.getContext()); !fault.empty())
        throw Error(ErrorKind::InvalidArgument,
                    placeInRecipe(step.line) + ": '" + step.text() + "': " + fault);
    if (step.verb != verbs::follow.name) {
      steps.push_back(step);
      continue;
    }
    if (step.object == "where-possible")
      program->setAttr(kWherePossibleAttr, UnitAttr::get(program.getContext()));
    else
      program->removeAttr(kWherePossibleAttr);
  }
  writeSteps(program, withoutContradictions(program, steps));
  writeKernels(program, recipe.kernels);
}

std::vector<ProgramStep> stepsToFollow(func::FuncOp program) {
  std::vector<ProgramStep> steps;
  if (auto entries = program->getAttrOfType<ArrayAttr>(kGivenAttr))
    for (auto entry : entries.getAsRange<ArrayAttr>())
      steps.push_back({wordOf(entry, 1), wordOf(entry, 2), wordOf(entry, 3), lineOf(entry)});
  return steps;
}

bool plansGreedily(func::FuncOp program) {
  std::string step =
      ProgramStep{verbs::plan.name.str(), verbs::plan.subject.str(), "greedily"}.text();
  auto choices = program->getAttrOfType<ArrayAttr>(kChoicesAttr);
  return choices && llvm::is_contained(choices.getAsValueRange<StringAttr>(), StringRef(step));
}

bool followsWherePossible(func::FuncOp program) { return program->hasAttr(kWherePossibleAttr); }

Choices::Choices(func::FuncOp program)
    : program(program), names(program.getBody().front()), explains(program->hasAttr(kExplainAttr)) {
  for (const ProgramStep &step : stepsToFollow(program))
    given.push_back({step});
  if (auto entries = program->getAttrOfType<ArrayAttr>(kGivenKernelsAttr))
    for (auto entry : entries.getAsRange<ArrayAttr>())
      kernels.push_back({wordOf(entry, 1), wordOf(entry, 2), lineOf(entry),
                         cast<DenseI32ArrayAttr>(entry[3]).asArrayRef().vec()});
  for (const auto &[i, kernel] : llvm::enumerate(kernels)) {
    StringRef name = names.ofKernel(kernel.name);
    kernelByName[name.empty() ? StringRef(kernel.name) : name] = i;
  }
}

Choices::~Choices() {
  llvm::erase_if(given, [](const Given &step) { return step.followed; });
  writeSteps(program, given);
  writeKernels(program, kernels);
  SmallVector<Attribute> lines;
  for (const std::string &line : made)
    lines.push_back(StringAttr::get(program.getContext(), line));
  append(program, kChoicesAttr, lines);
  append(program, kWhyNotAttr, reasons);
}

/// The closest name counts: what is said of one operator before what is said of all of its kind.
Choices::Given *Choices::find(StringRef verb, Operation *op) {
  Given *found = nullptr;
  OperatorNames::Match closest = OperatorNames::Match::None;
  for (Given &step : given)
    if (step.verb == verb)
      if (OperatorNames::Match match = names.match(step.subject, op); match > closest) {
        closest = match;
        found = &step;
      }
  return found;
}

std::optional<std::string> Choices::wanted(StringRef verb, Operation *op) {
  Given *step = find(verb, op);
  if (!step)
    return std::nullopt;
  step->followed = true;
  return step->object;
}

std::vector<ProgramStep> Choices::take(StringRef verb) {
  std::vector<ProgramStep> steps;
  for (Given &step : given)
    if (step.verb == verb && !step.followed) {
      step.followed = true;
      steps.push_back(step);
    }
  return steps;
}

bool Choices::isKernel(StringRef name) const { return kernelByName.contains(name); }

std::optional<std::string> Choices::scheduleOf(StringRef name) {
  auto found = kernelByName.find(name);
  if (found == kernelByName.end() || kernels[found->second].schedule.empty())
    return std::nullopt;
  setScheduleLines(program, name, kernels[found->second].lines);
  return kernels[found->second].schedule;
}

void Choices::note(StringRef verb, Operation *op, StringRef object) {
  made.push_back(ProgramStep{verb.str(), nameOf(op).str(), object.str()}.text());
}

void Choices::note(const ProgramStep &step) { made.push_back(step.text()); }

void Choices::noteMissed(StringRef verb, Operation *op, StringRef object, const Twine &reason,
                         AffineExpr bytes, std::optional<double> microseconds) {
  if (!explains)
    return;
  Builder b(program.getContext());
  std::string step = ProgramStep{verb.str(), nameOf(op).str(), object.str()}.text();
  SmallVector<Attribute> entry{b.getStringAttr(step), b.getStringAttr(reason)};
  if (bytes)
    entry.push_back(AffineMapAttr::get(symbolMap({bytes}, program.getContext())));
  if (microseconds)
    entry.push_back(b.getF64FloatAttr(*microseconds));
  reasons.push_back(b.getArrayAttr(entry));
}

void Choices::refuse(StringRef verb, Operation *op, const Twine &reason) {
  Given *step = find(verb, op);
  // A step for a kind of operators holds if it can.
  if (step && StringRef(step->subject).starts_with(kEvery))
    noteMissed(verb, op, step->object, reason);
  else if (step && step->hasOperatorAsObject() && !names.isKnown(step->object))
    refuse(*step, unknown(step->object));
  else if (step)
    refuse(*step, reason);
}

std::string Choices::unknown(StringRef name) const {
  return "there is no operator '" + name.str() + "' at that point; there are " +
         names.similarTo(name);
}

void Choices::refuse(const ProgramStep &step, const Twine &reason) {
  refuse(step.line, step.text(), "'" + step.text() + "': ", reason);
}

void Choices::refuse(int line, const Twine &step, const Twine &before, const Twine &reason) {
  if (followsWherePossible(program))
    noteMissedOptimization(program, step.str(), reason);
  else if (!program->hasAttr(kRefusedStepAttr))
    program->setAttr(
        kRefusedStepAttr,
        StringAttr::get(program.getContext(), placeInRecipe(line) + ": " + before + reason));
}

void Choices::finish(ArrayRef<StringLiteral> verbs) {
  for (Given &step : given) {
    if (!llvm::is_contained(verbs, step.verb))
      continue;
    bool isOfKind = StringRef(step.subject).starts_with(kEvery);
    if (isOfKind && step.hasOperatorAsObject() && !names.isKnown(step.object))
      refuse(step, unknown(step.object));
    else if (isOfKind && !step.followed)
      noteMissedOptimization(program, step.text(),
                             "the program has no operator to which it applies");
    else if (!step.followed)
      refuse(step, names.isKnown(step.subject)
                       ? "'" + step.subject + "' is not an operator to which it applies"
                       : unknown(step.subject));
    step.followed = true;
  }
}

void Choices::finishAll() {
  for (Given &step : given) {
    const char *reason = "the compiler makes no such choice for this program and target";
    if (StringRef(step.subject).starts_with(kEvery))
      noteMissedOptimization(program, step.text(), reason);
    else
      refuse(step, reason);
    step.followed = true;
  }
}

void Choices::finishKernels(function_ref<bool(StringRef)> exists) {
  for (const auto &[i, kernel] : llvm::enumerate(kernels)) {
    StringRef known = names.ofKernel(kernel.name);
    StringRef name = known.empty() ? StringRef(kernel.name) : known;
    if (size_t last = kernelByName.lookup(name); last != i)
      refuse(kernels[last].line, "kernel " + kernels[last].name, "",
             "'kernel " + kernels[last].name + ":': line " + Twine(kernel.line) +
                 " names this kernel, too");
    else if (!exists(name))
      refuse(kernel.line, "kernel " + kernel.name, "",
             !known.empty() ? "no kernel is called '" + kernel.name + "': it is computed in another"
                            : "there is no operator '" + kernel.name + "'; there are " +
                                  names.similarTo(kernel.name));
  }
  kernels.clear();
}

void setScheduleLines(func::FuncOp program, StringRef kernel, ArrayRef<int> lines) {
  NamedAttrList all(program->getAttrOfType<DictionaryAttr>(kScheduleLinesAttr));
  all.set(kernel, DenseI32ArrayAttr::get(program.getContext(), lines));
  program->setAttr(kScheduleLinesAttr, all.getDictionary(program.getContext()));
}

std::vector<int> scheduleLines(func::FuncOp program, StringRef kernel) {
  if (auto all = program->getAttrOfType<DictionaryAttr>(kScheduleLinesAttr))
    if (auto lines = all.getAs<DenseI32ArrayAttr>(kernel))
      return lines.asArrayRef().vec();
  return {};
}

void forgetScheduleLines(func::FuncOp program) { program->removeAttr(kScheduleLinesAttr); }

void Choices::notePlanning(StringRef text) {
  if (explains && !text.empty())
    program->setAttr(kPlanningAttr, StringAttr::get(program.getContext(), text));
}

std::string planningOf(func::FuncOp program) {
  auto text = program->getAttrOfType<StringAttr>(kPlanningAttr);
  return text ? text.str() : "";
}

void noteMissedOptimization(func::FuncOp program, StringRef step, const Twine &reason) {
  Builder b(program.getContext());
  if (program->hasAttr(kExplainAttr))
    append(program, kWhyNotAttr, b.getArrayAttr({b.getStringAttr(step), b.getStringAttr(reason)}));
}

std::vector<MissedOptimization> reasonsOf(func::FuncOp program) {
  std::vector<MissedOptimization> result;
  llvm::StringMap<size_t> positions; // what was tried several times has its last reason
  if (auto entries = program->getAttrOfType<ArrayAttr>(kWhyNotAttr))
    for (auto entry : entries.getAsRange<ArrayAttr>()) {
      size_t position = positions.try_emplace(wordOf(entry, 0), result.size()).first->second;
      if (position == result.size())
        result.emplace_back();
      MissedOptimization &why = result[position];
      why = {wordOf(entry, 0), wordOf(entry, 1)};
      for (Attribute amount : entry.getValue().drop_front(2))
        if (auto microseconds = dyn_cast<FloatAttr>(amount))
          why.microseconds = microseconds.getValueAsDouble();
        else
          why.bytes = toDimExpr(cast<AffineMapAttr>(amount).getValue().getResult(0));
    }
  return result;
}

std::string kernelNameOf(Operation *kernel) {
  auto name = kernel->getAttrOfType<StringAttr>(kKernelAttr);
  return name ? name.str() : "";
}

std::string choicesText(func::FuncOp program, StringRef attribute) {
  std::string text;
  if (auto lines = program->getAttrOfType<ArrayAttr>(attribute))
    for (auto line : lines.getAsValueRange<StringAttr>())
      text += line.str() + "\n";
  return text;
}

} // namespace headrace
