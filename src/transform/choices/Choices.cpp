#include "transform/choices/Choices.h"

using namespace mlir;

namespace headrace {
namespace {

constexpr StringLiteral kGivenAttr = "hr.given", kGivenKernelsAttr = "hr.given_kernels";

// [line, verb, subject, object] each; kernels have [line, name, schedule].
Attribute asAttribute(Builder &b, int line, ArrayRef<StringRef> words) {
  SmallVector<Attribute> parts{b.getI64IntegerAttr(line)};
  for (StringRef word : words)
    parts.push_back(b.getStringAttr(word));
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
    entries.push_back(asAttribute(b, kernel.line, {kernel.name, kernel.schedule}));
  setOrRemove(program, kGivenKernelsAttr, entries);
}

} // namespace

void giveRecipe(func::FuncOp program, const ProgramRecipe &recipe) {
  writeSteps(program, recipe.steps);
  writeKernels(program, recipe.kernels);
}

Choices::Choices(func::FuncOp program) : program(program), names(program.getBody().front()) {
  if (auto entries = program->getAttrOfType<ArrayAttr>(kGivenAttr))
    for (auto entry : entries.getAsRange<ArrayAttr>())
      given.push_back({{wordOf(entry, 1), wordOf(entry, 2), wordOf(entry, 3), lineOf(entry)}});
  if (auto entries = program->getAttrOfType<ArrayAttr>(kGivenKernelsAttr))
    for (auto entry : entries.getAsRange<ArrayAttr>())
      kernels.push_back({wordOf(entry, 1), wordOf(entry, 2), lineOf(entry)});
  for (const auto &[i, kernel] : llvm::enumerate(kernels))
    kernelByName[kernel.name] = i;
}

Choices::~Choices() {
  llvm::erase_if(given, [](const Given &step) { return step.followed; });
  writeSteps(program, given);
  writeKernels(program, kernels);
  if (made.empty())
    return;
  SmallVector<Attribute> lines;
  if (auto before = program->getAttrOfType<ArrayAttr>(kChoicesAttr))
    llvm::append_range(lines, before);
  for (const std::string &line : made)
    lines.push_back(StringAttr::get(program.getContext(), line));
  setOrRemove(program, kChoicesAttr, lines);
}

/// An operator's own name counts before its node's.
Choices::Given *Choices::find(StringRef verb, Operation *op) {
  Given *found = nullptr;
  for (Given &step : given)
    if (step.verb == verb && names.means(step.subject, op) &&
        (!found || step.subject == names.of(op)))
      found = &step;
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
  return kernels[found->second].schedule;
}

void Choices::note(StringRef verb, Operation *op, StringRef object) {
  made.push_back(ProgramStep{verb.str(), nameOf(op).str(), object.str()}.text());
}

void Choices::refuse(StringRef verb, Operation *op, const Twine &reason) {
  if (Given *step = find(verb, op))
    refuse(*step, reason);
}

void Choices::refuse(const ProgramStep &step, const Twine &reason) {
  refuse(step.line, "'" + step.text() + "': " + reason);
}

void Choices::refuse(int line, const Twine &reason) {
  if (!program->hasAttr(kRefusedStepAttr))
    program->setAttr(
        kRefusedStepAttr,
        StringAttr::get(program.getContext(), "recipe, line " + Twine(line) + ": " + reason));
}

void Choices::finish(ArrayRef<StringLiteral> verbs) {
  for (Given &step : given) {
    if (step.followed || !llvm::is_contained(verbs, step.verb))
      continue;
    step.followed = true;
    refuse(step, names.isKnown(step.subject)
                     ? "'" + step.subject + "' is no operator that it can be said of"
                     : "there is no operator '" + step.subject + "' at that point; there are " +
                           names.similarTo(step.subject));
  }
}

void Choices::finishKernels(function_ref<bool(StringRef)> exists) {
  for (const ProgramRecipe::Kernel &kernel : kernels)
    if (!exists(kernel.name))
      refuse(kernel.line,
             names.isKnown(kernel.name)
                 ? "no kernel is called '" + kernel.name + "': it is computed in another"
                 : "there is no operator '" + kernel.name + "'; there are " +
                       names.similarTo(kernel.name));
  kernels.clear();
}

std::string kernelNameOf(Operation *kernel) {
  auto name = kernel->getAttrOfType<StringAttr>(kKernelAttr);
  return name ? name.str() : "";
}

std::string choicesText(func::FuncOp program) {
  std::string text;
  if (auto lines = program->getAttrOfType<ArrayAttr>(kChoicesAttr))
    for (auto line : lines.getAsValueRange<StringAttr>())
      text += line.str() + "\n";
  return text;
}

} // namespace headrace
