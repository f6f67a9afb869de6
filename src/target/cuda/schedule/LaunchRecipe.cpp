#include "target/cuda/schedule/LaunchRecipe.h"

#include "transform/recipe/LineReader.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>

namespace headrace::cuda {
namespace {

constexpr int64_t kMostValue = 1 << 20;

std::string listOf(llvm::ArrayRef<llvm::StringLiteral> names) {
  std::string list;
  for (llvm::StringRef name : names)
    list += (list.empty() ? "" : ", ") + name.str();
  return list;
}

/// Reads one line.
class LineParser : public LineReader {
public:
  using LineReader::LineReader;

  LaunchLine parse() {
    LaunchLine result;
    result.line = line;
    result.stage = word(":", "the name of a stage");
    expect(':', "after the stage '" + result.stage + "'");
    size_t kindAt = at;
    std::string name = word("=", "a kind of launch");
    std::optional<Schedule::Kind> kind = Schedule::kindNamed(name);
    if (!kind)
      fail(kindAt, "expected a kind of launch (" + listOf(Schedule::kindNames()) + ")");
    result.given.kind = *kind;
    while (!atEnd())
      parseParameter(result.given, name);
    return result;
  }

private:
  void parseParameter(GivenSchedule &given, const std::string &kind) {
    size_t nameAt = at;
    std::string name = word("=", "a parameter");
    llvm::ArrayRef<llvm::StringLiteral> known = Schedule::parametersOf(given.kind);
    if (!llvm::is_contained(known, name))
      fail(nameAt, "expected a parameter of '" + kind + "' (" + listOf(known) + ")");
    if (given.has(name))
      fail(nameAt, "expected each parameter once");
    expect('=', "after '" + name + "'");
    size_t valueAt = at;
    std::string digits = word("", "a number");
    int64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0 ||
        value > kMostValue)
      fail(valueAt,
           "expected a number from 0 to " + std::to_string(kMostValue) + " for '" + name + "'");
    given.parameters.emplace_back(name, value);
  }

  /// Everything up to a space or one of the characters of `ends`.
  std::string word(std::string_view ends, const std::string &what) {
    size_t end = at;
    while (end < text.size() && !isSpace(text[end]) &&
           ends.find(text[end]) == std::string_view::npos)
      ++end;
    if (end == at)
      fail(at, "expected " + what);
    std::string result(text.substr(at, end - at));
    at = end;
    skipSpace();
    return result;
  }

  void expect(char c, const std::string &where) {
    if (atEnd() || text[at] != c)
      fail(at, std::string("expected '") + c + "' " + where);
    ++at;
    skipSpace();
  }
};

} // namespace

std::vector<LaunchLine> parseLaunches(std::string_view text) {
  std::vector<LaunchLine> lines;
  for (int line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    LineParser parser(text.substr(0, end), line);
    if (!parser.atEnd())
      lines.push_back(parser.parse());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

} // namespace headrace::cuda
