#include "transform/choices/ProgramRecipe.h"

#include "transform/recipe/LineReader.h"

#include <optional>

namespace headrace {
namespace {

struct Verb {
  std::string_view name;
  std::string_view link; // the word between subject and object
  bool takesObject;
};

constexpr Verb kVerbs[] = {
    {"fold", "into", true},  {"leave", "", false},    {"layout", "", true},
    {"expand", "as", true},  {"fuse", "into", true},  {"separate", "", false},
    {"walk", "along", true}, {"merge", "into", true}, {"plan", "", true},
    {"pack", "by", true},    {"keep", "", false},     {"recompute", "", false},
    {"follow", "", true}};

const Verb *findVerb(std::string_view name) {
  for (const Verb &verb : kVerbs)
    if (verb.name == name)
      return &verb;
  return nullptr;
}

/// A line that is no kernel's: a choice, or the head of a kernel.
class StepParser : public LineReader {
public:
  using LineReader::LineReader;

  /// The word where the reader stands, without passing it.
  std::string_view peek() const {
    return text.substr(at, std::min(text.find_first_of(" \t\r", at), text.size()) - at);
  }

  ProgramStep step(const Verb &verb) {
    ProgramStep result{std::string(verb.name), {}, {}, line};
    word("");
    result.subject = subject(verb);
    if (!verb.link.empty() && peek() != verb.link)
      fail(at, "expected '" + std::string(verb.link) + "'");
    if (!verb.link.empty())
      word("");
    if (verb.takesObject)
      result.object = word("a name or a number");
    end();
    return result;
  }

  ProgramRecipe::Kernel kernel() {
    word("");
    size_t place = at;
    std::string name = word("a kernel");
    if (name.back() != ':' || name.size() == 1)
      fail(place, "expected a kernel's name and ':'");
    name.pop_back();
    end();
    return {name, {}, line};
  }

private:
  /// An operator's name, or "every conv of 3x3" up to the word that links the object.
  std::string subject(const Verb &verb) {
    std::string name = word("an operator");
    if (name != "every")
      return name;
    size_t end =
        verb.link.empty() ? text.size() : text.find(" " + std::string(verb.link) + " ", at - 1);
    if (verb.link.empty() && verb.takesObject) // the last word
      end = text.find_last_of(" \t", text.find_last_not_of(" \t\r"));
    if (end == std::string_view::npos || end <= at)
      end = text.size();
    std::string kind(text.substr(at, end - at));
    while (!kind.empty() && isSpace(kind.back()))
      kind.pop_back();
    if (kind.empty())
      fail(at, "expected a kind of operators");
    at = end;
    skipSpace();
    return name + " " + kind;
  }

  std::string word(const std::string &expected) {
    std::string result(peek());
    if (result.empty())
      fail(at, "expected " + expected);
    at += result.size();
    skipSpace();
    return result;
  }

  void end() {
    if (!atEnd())
      fail(at, "expected the end of the line");
  }
};

std::string indented(std::string_view lines) {
  std::string result;
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size());
    result += "  " + std::string(lines.substr(0, end)) + "\n";
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return result;
}

} // namespace

std::string ProgramStep::text() const {
  const Verb *found = findVerb(verb);
  std::string result = verb + " " + subject;
  if (object.empty())
    return result;
  if (!found->link.empty())
    result += " " + std::string(found->link);
  return result + " " + object;
}

GradientRecipe GradientRecipe::of(std::string_view text) {
  GradientRecipe recipe;
  std::string *part = &recipe.split;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    bool isHead = line == "forward:" || line == "backward:";
    if (isHead)
      part = line == "forward:" ? &recipe.forward : &recipe.backward;
    recipe.hasPrograms |= isHead;
    // Lines keep their numbers, for messages.
    for (std::string *each : {&recipe.split, &recipe.forward, &recipe.backward})
      *each += (each == part && !isHead ? line : "") + "\n";
  }
  return recipe;
}

std::string followedWherePossible(std::string_view recipe) {
  return std::string(recipe) + "\nfollow recipe where-possible\n";
}

std::string ProgramRecipe::text() const {
  std::string result;
  for (const ProgramStep &step : steps)
    result += step.text() + "\n";
  for (const Kernel &kernel : kernels)
    result += "kernel " + kernel.name + ":\n" + indented(kernel.schedule);
  return result + stages;
}

ProgramRecipe ProgramRecipe::parse(std::string_view text) {
  ProgramRecipe recipe;
  bool inKernel = false, hasStages = false;
  for (int line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    StepParser parser(whole, line);
    std::string stage;
    if (!parser.atEnd()) {
      bool isIndented = whole.front() == ' ' || whole.front() == '\t';
      const Verb *verb = findVerb(parser.peek());
      if (isIndented && inKernel) {
        std::string_view step = whole.substr(whole.find_first_not_of(" \t"));
        recipe.kernels.back().schedule += std::string(step) + "\n";
      } else if (parser.peek() == "kernel") {
        recipe.kernels.push_back(parser.kernel());
        inKernel = true;
      } else if (verb) {
        recipe.steps.push_back(parser.step(*verb));
        inKernel = false;
      } else {
        stage = whole;
        hasStages = true;
        inKernel = false;
      }
    }
    recipe.stages += stage + "\n";
  }
  if (!hasStages)
    recipe.stages.clear();
  return recipe;
}

} // namespace headrace
