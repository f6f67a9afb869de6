#include "transform/recipe/Recipe.h"

#include "runtime/system/Error.h"
#include "runtime/system/Listing.h"
#include "transform/choices/LineReader.h"

#include <charconv>
#include <optional>

namespace headrace {
namespace {

enum class Operands { None, Axes, Sizes, Target };

/// The operands after a step's name: `[target] [axes] [keyword operands] [-> names]`.
struct Grammar {
  RecipeStep::Kind kind;
  const char *verb;
  bool target; // another stage, or an operand
  int minAxes; // directly after it
  int maxAxes; // kMany: any number
  const char *keyword;
  Operands operands; // what the keyword introduces
  int names;         // how many may follow an arrow
};
constexpr int kMany = 1 << 16;

constexpr Grammar kSteps[] = {
    {RecipeStep::Kind::Split, "split", false, 1, 1, "by", Operands::Sizes, 2},
    {RecipeStep::Kind::Tile, "tile", false, 1, kMany, "by", Operands::Sizes, 0},
    {RecipeStep::Kind::Reorder, "reorder", false, 1, kMany, nullptr, Operands::None, 0},
    {RecipeStep::Kind::Fuse, "fuse", false, 2, kMany, nullptr, Operands::None, 1},
    {RecipeStep::Kind::Parallel, "parallel", false, 1, kMany, nullptr, Operands::None, 0},
    {RecipeStep::Kind::Unroll, "unroll", false, 1, kMany, nullptr, Operands::None, 0},
    {RecipeStep::Kind::Vectorize, "vectorize", false, 1, kMany, nullptr, Operands::None, 0},
    {RecipeStep::Kind::CacheRead, "cache_read", true, 0, 0, nullptr, Operands::None, 1},
    {RecipeStep::Kind::CacheWrite, "cache_write", false, 0, 0, nullptr, Operands::None, 1},
    {RecipeStep::Kind::ComputeAt, "compute_at", true, 0, 1, nullptr, Operands::None, 0},
    {RecipeStep::Kind::Pack, "pack", true, 0, 0, "at", Operands::Axes, 0},
    {RecipeStep::Kind::Prefetch, "prefetch", true, 0, 0, "by", Operands::Sizes, 0},
    {RecipeStep::Kind::Tensorize, "tensorize", false, 1, kMany, "with", Operands::Target, 0},
};

const Grammar &grammarOf(RecipeStep::Kind kind) {
  for (const Grammar &grammar : kSteps)
    if (grammar.kind == kind)
      return grammar;
  throw InternalError("a step without grammar");
}

std::vector<llvm::StringRef> verbs() {
  std::vector<llvm::StringRef> result;
  for (const Grammar &grammar : kSteps)
    result.push_back(grammar.verb);
  return result;
}

/// Reads one line.
class LineParser : public LineReader {
public:
  LineParser(std::string_view text, int line, const std::vector<std::string> &kinds)
      : LineReader(text, line), kinds(kinds) {}

  RecipeStep parse() {
    RecipeStep step;
    step.line = line;
    size_t stageAt = at;
    step.stage = name("the name of a stage");
    if (!accept(":"))
      failAtColon(step.stage, stageAt);
    size_t verbAt = at;
    std::string verb = name("a step");
    const Grammar *grammar = nullptr;
    for (const Grammar &candidate : kSteps)
      if (verb == candidate.verb)
        grammar = &candidate;
    if (!grammar)
      failAtVerb(verbAt);
    step.kind = grammar->kind;
    if (grammar->target)
      step.target = name(step.kind == RecipeStep::Kind::ComputeAt ? "a stage" : "an operand");
    readAxes(step, grammar->minAxes, grammar->maxAxes, grammar->keyword);
    if (grammar->keyword)
      readOperands(step, *grammar);
    if (grammar->names > 0 && accept("->"))
      for (int i = 0; i < grammar->names; ++i)
        step.names.push_back(name("a new name"));
    if (!atEnd())
      fail("expected the end of the line");
    return step;
  }

private:
  /// The stage may be missing, so that its name is a step.
  [[noreturn]] void failAtColon(const std::string &stage, size_t stageAt) const {
    std::vector<llvm::StringRef> words = verbs();
    if (llvm::is_contained(words, stage))
      LineReader::fail(stageAt, "expected a stage and ':' before the step");
    if (!suggestion(stage, words).empty())
      LineReader::fail(stageAt, "expected a stage and ':' before a step", words);
    fail("expected ':' after the stage '" + stage + "'");
  }

  [[noreturn]] void failAtVerb(size_t verbAt) const {
    std::vector<llvm::StringRef> words = verbs();
    std::string expected = "expected a step (" + listed(words, ", ") + ")";
    if (!kinds.empty())
      expected += " or a kind of schedule (" + listed(kinds, ", ") + ")";
    words.insert(words.end(), kinds.begin(), kinds.end());
    LineReader::fail(verbAt, expected, words);
  }

  void readAxes(RecipeStep &step, int least, int most, const char *keyword) {
    while (static_cast<int>(step.axes.size()) < most) {
      bool ends = atEnd() || text.substr(at, 2) == "->" || (keyword && atWord(keyword));
      if (ends && static_cast<int>(step.axes.size()) >= least)
        return;
      step.axes.push_back(name("an axis"));
    }
  }

  void readOperands(RecipeStep &step, const Grammar &grammar) {
    if (!atWord(grammar.keyword))
      fail("expected '" + std::string(grammar.keyword) + "'");
    accept(grammar.keyword);
    if (grammar.operands == Operands::Axes)
      step.axes.push_back(name("an axis"));
    else if (grammar.operands == Operands::Target)
      step.target = name("an intrinsic");
    else
      for (size_t i = 0; i < std::max<size_t>(step.axes.size(), 1); ++i)
        step.sizes.push_back(number());
  }

  static bool isNameChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/';
  }

  bool atWord(std::string_view word) const {
    size_t end = at + word.size();
    return text.substr(at, word.size()) == word && (end >= text.size() || !isNameChar(text[end]));
  }

  std::string name(const std::string &what) {
    size_t end = at;
    while (end < text.size() && isNameChar(text[end]))
      ++end;
    if (end == at)
      fail("expected " + what);
    std::string result(text.substr(at, end - at));
    at = end;
    skipSpace();
    return result;
  }

  int64_t number() {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    size_t stop = end - text.data();
    if (error != std::errc() || (stop < text.size() && isNameChar(text[stop])))
      fail("expected a size");
    at = stop;
    skipSpace();
    return value;
  }

  bool accept(std::string_view token) {
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    skipSpace();
    return true;
  }

  [[noreturn]] void fail(const std::string &expected) const { LineReader::fail(at, expected); }

  const std::vector<std::string> &kinds;
};

} // namespace

std::string RecipeStep::text() const {
  const Grammar &grammar = grammarOf(kind);
  std::string result = stage + ": " + grammar.verb;
  auto add = [&](const std::string &word) { result += " " + word; };
  if (grammar.target)
    add(target);
  if (grammar.operands == Operands::Axes)
    add(grammar.keyword);
  for (const std::string &axis : axes)
    add(axis);
  if (grammar.operands == Operands::Sizes)
    add(grammar.keyword);
  for (int64_t size : sizes)
    add(std::to_string(size));
  if (grammar.operands == Operands::Target) {
    add(grammar.keyword);
    add(target);
  }
  if (!names.empty())
    add("->");
  for (const std::string &name : names)
    add(name);
  return result;
}

std::string Recipe::text() const {
  std::string result;
  for (const RecipeStep &step : steps)
    result += step.text() + "\n";
  return result;
}

Recipe Recipe::parse(std::string_view text, const std::vector<std::string> &kinds) {
  Recipe recipe;
  for (int line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    LineParser parser(text.substr(0, end), line, kinds);
    if (!parser.atEnd())
      recipe.steps.push_back(parser.parse());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return recipe;
}

} // namespace headrace
