#include "transform/choices/ProgramRecipe.h"

#include "runtime/system/Listing.h"
#include "transform/choices/LineReader.h"
#include "transform/choices/Verbs.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace headrace {
namespace {

constexpr StringRef kKernel = "kernel", kEveryWord = "every";

/// What a line can begin with, other than a stage.
std::vector<StringRef> firstWords() {
  std::vector<StringRef> words;
  for (const Verb *verb : allVerbs())
    words.push_back(verb->name);
  words.push_back(kKernel);
  return words;
}

/// Reads a line outside of kernels: a choice, or the head of a kernel.
class StepParser : public LineReader {
public:
  using LineReader::LineReader;

  /// The word where the reader stands, without passing it.
  StringRef peek() const {
    return text.substr(at, std::min(text.find_first_of(" \t\r", at), text.size()) - at);
  }

  /// Whether the line is on a stage: its first word, if there is one, is before a colon.
  bool isOnStage() const {
    size_t end = text.find_first_of(": \t\r", at);
    end = text.find_first_not_of(" \t\r", end);
    return end != std::string_view::npos && text[end] == ':';
  }

  [[noreturn]] void failAtVerb() const {
    std::vector<StringRef> words = firstWords();
    fail(at, "expected a step (" + listed(words, ", ") + ") or a stage and ':'", words);
  }

  ProgramStep step(const Verb &verb) {
    ProgramStep result{verb.name.str(), {}, {}, line};
    word("");
    size_t subjectAt = at;
    result.subject = subject(verb);
    if (!verb.subject.empty() && result.subject != verb.subject)
      fail(subjectAt, "expected '" + verb.subject.str() + "'", verb.subject);
    if (!verb.link.empty() && peek() != verb.link)
      fail(at, "expected '" + verb.link.str() + "'", verb.link);
    if (!verb.link.empty())
      word("");
    if (verb.object != Verb::Object::None)
      result.object = object(verb);
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
  std::string object(const Verb &verb) {
    size_t objectAt = at;
    std::string result = word("a name or a number");
    int64_t number = 0;
    if (verb.object == Verb::Object::Number &&
        (StringRef(result).getAsInteger(10, number) || number < 1))
      fail(objectAt, verb.name == verbs::pack.name ? "expected a number of columns, 1 for none"
                                                   : "expected a number of elements");
    if (verb.object == Verb::Object::Word && !llvm::is_contained(verb.words, result))
      fail(objectAt, "expected " + listed(verb.words), verb.words);
    return result;
  }

  /// An operator's name, or "every conv of 3x3" up to the word that links the object.
  std::string subject(const Verb &verb) {
    size_t nameAt = at;
    std::string name = word("an operator");
    if (name != kEveryWord) {
      if (!isBeforeObject(verb) && !suggestion(name, kEveryWord).empty())
        fail(nameAt, "expected an operator, or 'every' and a kind of operators", kEveryWord);
      return name;
    }
    size_t end = verb.link.empty() ? text.size() : text.find(" " + verb.link.str() + " ", at - 1);
    if (verb.link.empty() && verb.object != Verb::Object::None) // the last word
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

  /// Whether the rest of the line is what follows a step's subject.
  bool isBeforeObject(const Verb &verb) const {
    if (!verb.link.empty())
      return peek() == verb.link;
    bool isLastWord = !atEnd() && text.find_first_of(" \t", at) >= text.find_last_not_of(" \t\r");
    return verb.object == Verb::Object::None ? atEnd() : isLastWord;
  }

  std::string word(const std::string &expected) {
    std::string result = peek().str();
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
    result += " " + found->link.str();
  return result + " " + object;
}

bool ProgramStep::hasOperatorAsObject() const {
  return findVerb(verb)->object == Verb::Object::Operator;
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
  std::string result = heading.empty() ? "" : "# " + heading + "\n";
  for (const ProgramStep &step : steps)
    result += step.text() + "\n";
  for (const Kernel &kernel : kernels)
    result += "kernel " + kernel.name + ":\n" + indented(kernel.schedule);
  return result + stages;
}

ProgramRecipe ProgramRecipe::parse(std::string_view text) {
  ProgramRecipe recipe;
  bool inKernel = false, hasStages = false, begins = true;
  for (int line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (size_t first = whole.find_first_not_of(" \t\r"); begins && first != whole.npos) {
      if (whole[first] == '#')
        recipe.heading = StringRef(whole.substr(first + 1)).trim().str();
      begins = false;
    }
    StepParser parser(whole, line);
    std::string stage;
    if (!parser.atEnd()) {
      bool isIndented = whole.front() == ' ' || whole.front() == '\t';
      const Verb *verb = findVerb(parser.peek());
      if (isIndented && inKernel) {
        std::string_view step = whole.substr(whole.find_first_not_of(" \t"));
        recipe.kernels.back().schedule += std::string(step) + "\n";
        recipe.kernels.back().lines.push_back(line);
      } else if (parser.isOnStage()) {
        stage = whole;
        hasStages = true;
        inKernel = false;
      } else if (parser.peek() == kKernel) {
        recipe.kernels.push_back(parser.kernel());
        inKernel = true;
      } else if (verb) {
        recipe.steps.push_back(parser.step(*verb));
        inKernel = false;
      } else {
        parser.failAtVerb();
      }
    }
    recipe.stages += stage + "\n";
  }
  if (!hasStages)
    recipe.stages.clear();
  return recipe;
}

} // namespace headrace
