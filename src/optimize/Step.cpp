#include "optimize/Step.h"

#include "runtime/system/Error.h"
#include "transform/choices/Verbs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::StringRef;

namespace headrace::optimize {

namespace {

/// Verbs that decide the same question about an operator.
bool decideTheSame(StringRef a, StringRef b) {
  auto decidesKernel = [](StringRef verb) {
    return verb == verbs::fuse.name || verb == verbs::separate.name || verb == verbs::merge.name;
  };
  const Verb &one = *findVerb(a), &other = *findVerb(b);
  return a == b || one.excludes == other.name || other.excludes == one.name ||
         (decidesKernel(a) && decidesKernel(b));
}

std::string textOf(const ProgramRecipe::Kernel &kernel) {
  ProgramRecipe one;
  one.kernels.push_back(kernel);
  std::string text = one.text();
  text.pop_back();
  return text;
}

/// Lines about operators and kernels: what a recipe says of planning is not a difference of programs.
std::vector<std::string> linesOf(const ProgramRecipe &recipe) {
  std::vector<std::string> lines;
  for (const ProgramStep &step : recipe.steps)
    if (findVerb(step.verb)->isAboutOperators())
      lines.push_back(step.text());
  for (const ProgramRecipe::Kernel &kernel : recipe.kernels)
    lines.push_back(textOf(kernel));
  return lines;
}

std::vector<std::string> linesWithout(const std::vector<std::string> &lines,
                                      const std::vector<std::string> &others) {
  llvm::StringSet<> known;
  for (const std::string &line : others)
    known.insert(line);
  std::vector<std::string> result;
  for (const std::string &line : lines)
    if (!known.contains(line))
      result.push_back(line);
  return result;
}

/// `kernel NAME: LINE; LINE`, as a command line has the schedule of a kernel, with lines of its own.
std::string inSeveralLines(std::string_view text) {
  StringRef line = StringRef(text).trim();
  if (!line.starts_with("kernel ") || line.contains('\n'))
    return line.str();
  auto [head, schedule] = line.split(": ");
  if (schedule.empty())
    return line.str();
  std::string result = head.str() + ":\n";
  llvm::SmallVector<StringRef> lines;
  schedule.split(lines, ';');
  for (StringRef each : lines)
    result += "  " + each.trim().str() + "\n";
  return result;
}

} // namespace

//===--------------------------------------------------------------------------===//
// Step
//===--------------------------------------------------------------------------===//

Step Step::parse(std::string_view text) {
  ProgramRecipe recipe = ProgramRecipe::parse(inSeveralLines(text));
  if (recipe.steps.size() + recipe.kernels.size() != 1 || !recipe.stages.empty())
    throw Error(ErrorKind::InvalidArgument,
                "step '" + std::string(text) +
                    "': expected one choice of a recipe, or a kernel and its schedule");
  Step step;
  if (recipe.kernels.empty())
    step.choice = recipe.steps.front();
  else
    step.kernel = recipe.kernels.front();
  if (step.choice && !findVerb(step.choice->verb)->isAboutOperators())
    throw Error(ErrorKind::InvalidArgument, "step '" + std::string(text) +
                                                "': expected a choice about an operator or kernel");
  return step;
}

std::string Step::text() const { return choice ? choice->text() : textOf(*kernel); }
std::string Step::line() const {
  if (choice)
    return choice->text();
  std::string result = "kernel " + kernel->name + ":";
  llvm::SmallVector<StringRef> lines;
  StringRef(kernel->schedule).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (size_t i = 0; i < lines.size(); ++i)
    result += (i ? "; " : " ") + lines[i].str();
  return result;
}
std::string Step::verb() const { return choice ? choice->verb : "schedule"; }
const std::string &Step::subject() const { return choice ? choice->subject : kernel->name; }

//===--------------------------------------------------------------------------===//
// CompleteRecipe
//===--------------------------------------------------------------------------===//

const std::string &CompleteRecipe::kernelOf(const std::string &op) const {
  for (const ProgramStep &step : recipe.steps)
    if (step.verb == verbs::fuse.name && step.subject == op)
      return step.object;
  return op;
}

std::vector<std::string> CompleteRecipe::othersIn(const std::string &kernel) const {
  std::vector<std::string> others;
  for (const ProgramStep &step : recipe.steps)
    if (step.verb == verbs::fuse.name && step.object == kernel)
      others.push_back(step.subject);
  return others;
}

const ProgramRecipe::Kernel *CompleteRecipe::find(const std::string &name) const {
  auto isNamed = [&](const ProgramRecipe::Kernel &kernel) { return kernel.name == name; };
  auto found = llvm::find_if(recipe.kernels, isNamed);
  return found == recipe.kernels.end() ? nullptr : &*found;
}

bool CompleteRecipe::has(const ProgramStep &step) const {
  return objectOf(step.verb, step.subject) == step.object;
}

std::optional<std::string> CompleteRecipe::objectOf(std::string_view verb,
                                                    const std::string &op) const {
  for (const ProgramStep &step : recipe.steps)
    if (step.verb == verb && step.subject == op)
      return step.object;
  return std::nullopt;
}

CompleteRecipe CompleteRecipe::with(const Step &step) const {
  CompleteRecipe result = *this;
  if (step.kernel) {
    result.removeKernel(step.kernel->name);
    result.recipe.kernels.push_back(*step.kernel);
    return result;
  }
  const ProgramStep &choice = *step.choice;
  result.clearSchedule(kernelOf(choice.subject));
  if (choice.verb == verbs::slice.name) // runs kernels in another order, and changes none
    result.recipe.kernels = recipe.kernels;
  if (choice.verb == verbs::separate.name)
    result.separate(choice.subject);
  else if (choice.hasOperatorAsObject() && choice.verb != verbs::fold.name)
    result.fuse(choice.subject, choice.object);
  result.removeOthers(choice);
  result.recipe.steps.push_back(choice);
  return result;
}

CompleteRecipe CompleteRecipe::withoutSchedules(const std::vector<std::string> &kernels) const {
  CompleteRecipe result = *this;
  for (const std::string &kernel : kernels)
    result.clearSchedule(kernel);
  return result;
}

CompleteRecipe CompleteRecipe::unfused() const {
  CompleteRecipe result = *this;
  for (const ProgramStep &step : recipe.steps) {
    if (step.verb != verbs::fuse.name)
      continue;
    const ProgramStep separated{verbs::separate.name.str(), step.subject, ""};
    result.removeOthers(separated);
    result.recipe.steps.push_back(separated);
    result.clearSchedule(step.object);
    result.addKernel(step.subject);
  }
  for (ProgramStep &step : result.recipe.steps)
    if (step.verb == verbs::walk.name)
      step.object = "nothing";
  return result;
}

/// Lines on the same operator that decide what the step decides.
void CompleteRecipe::removeOthers(const ProgramStep &step) {
  llvm::erase_if(recipe.steps, [&](const ProgramStep &other) {
    return other.subject == step.subject && decideTheSame(other.verb, step.verb);
  });
}

/// Leaves the operator alone in a kernel. If the kernel is named after it, the others keep together
/// and get the name of the operator that computes the result.
void CompleteRecipe::separate(const std::string &op) {
  std::vector<std::string> others = othersIn(op);
  for (ProgramStep &step : recipe.steps)
    if (step.verb == verbs::fuse.name && step.object == op)
      step.object = others.front();
  if (!others.empty()) {
    llvm::erase_if(recipe.steps, [&](const ProgramStep &step) {
      return step.verb == verbs::fuse.name && step.subject == others.front();
    });
    addKernel(others.front());
  }
  addKernel(op);
}

/// Puts the operator, with all that its kernel computes if it names one, into another's kernel.
void CompleteRecipe::fuse(const std::string &op, const std::string &into) {
  clearSchedule(kernelOf(into));
  for (ProgramStep &step : recipe.steps)
    if (step.verb == verbs::fuse.name && step.object == op)
      step.object = into;
  removeKernel(op);
}

void CompleteRecipe::clearSchedule(const std::string &name) {
  for (ProgramRecipe::Kernel &kernel : recipe.kernels)
    if (kernel.name == name) {
      kernel.schedule.clear();
      kernel.lines.clear();
    }
}

void CompleteRecipe::addKernel(const std::string &name) {
  removeKernel(name);
  recipe.kernels.push_back({name, {}});
}

void CompleteRecipe::removeKernel(const std::string &name) {
  llvm::erase_if(recipe.kernels,
                 [&](const ProgramRecipe::Kernel &kernel) { return kernel.name == name; });
}

//===--------------------------------------------------------------------------===//
// Differences
//===--------------------------------------------------------------------------===//

RecipeDifference differenceOf(const CompleteRecipe &before, const CompleteRecipe &after) {
  std::vector<std::string> was = linesOf(before.parts()), is = linesOf(after.parts());
  return {linesWithout(was, is), linesWithout(is, was)};
}

std::string text(const RecipeDifference &difference) {
  std::string result;
  auto add = [&](char sign, const std::vector<std::string> &lines) {
    for (const std::string &line : lines) {
      result += sign;
      result += ' ';
      for (char letter : line) {
        result += letter;
        if (letter == '\n')
          result += "  ";
      }
      result += '\n';
    }
  };
  add('-', difference.removed);
  add('+', difference.added);
  return result;
}

std::vector<Step> stepsBetween(const CompleteRecipe &from, const CompleteRecipe &to) {
  std::vector<Step> steps;
  auto add = [&](const Verb &verb, const std::string &subject, const std::string &object = "") {
    steps.emplace_back().choice = ProgramStep{verb.name.str(), subject, object};
  };
  for (const ProgramStep &was : from.parts().steps) {
    if (to.objectOf(was.verb, was.subject))
      continue;
    if (was.verb == verbs::fold.name)
      add(verbs::leave, was.subject);
    else if (was.verb == verbs::fuse.name)
      add(verbs::separate, was.subject);
    else if (was.verb == verbs::walk.name)
      add(verbs::walk, was.subject, "nothing");
  }
  for (const ProgramStep &is : to.parts().steps)
    if (findVerb(is.verb)->isAboutOperators() && !from.has(is))
      steps.emplace_back().choice = is;
  for (const ProgramRecipe::Kernel &kernel : to.parts().kernels)
    if (const ProgramRecipe::Kernel *was = from.find(kernel.name);
        !kernel.schedule.empty() && (!was || was->schedule != kernel.schedule))
      steps.emplace_back().kernel = kernel;
  return steps;
}

static std::string withLines(const CompleteRecipe &recipe, bool plansKernels) {
  ProgramRecipe lines = recipe.parts();
  llvm::erase_if(lines.steps, [](const ProgramStep &step) {
    return !findVerb(step.verb)->isAboutOperators();
  });
  if (plansKernels)
    lines.steps.push_back({verbs::plan.name.str(), verbs::plan.subject.str(), "greedily"});
  lines.steps.push_back({verbs::follow.name.str(), verbs::follow.subject.str(), "where-possible"});
  return lines.text();
}

std::string frozen(const CompleteRecipe &recipe) { return withLines(recipe, true); }
std::string frozenBeforeSplit(const CompleteRecipe &recipe) { return withLines(recipe, false); }

} // namespace headrace::optimize
