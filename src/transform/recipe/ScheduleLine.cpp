#include "transform/recipe/ScheduleLine.h"

#include "transform/choices/LineReader.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>

namespace headrace {
namespace {

constexpr int64_t kMaxValue = 1 << 20;

std::string listOf(llvm::ArrayRef<llvm::StringLiteral> names) {
  std::string list;
  for (llvm::StringRef name : names)
    list += (list.empty() ? "" : ", ") + name.str();
  return list.empty() ? "it has none" : list;
}

std::vector<llvm::StringRef> wordsOf(llvm::ArrayRef<llvm::StringLiteral> names) {
  return {names.begin(), names.end()};
}

/// Reads one line.
class LineParser : public LineReader {
public:
  LineParser(std::string_view text, int line, const ScheduleWords &words)
      : LineReader(text, line), words(words) {}

  ScheduleLine parse() {
    ScheduleLine result;
    result.line = line;
    result.stage = word(":", "the name of a stage");
    expect(':', "after the stage '" + result.stage + "'");
    size_t kindAt = at;
    result.kind = word("=", words.kind);
    if (!llvm::is_contained(words.kinds, result.kind))
      fail(kindAt, "expected " + words.kind + " (" + listOf(words.kinds) + ")",
           wordsOf(words.kinds));
    while (!atEnd())
      parseParameter(result);
    return result;
  }

private:
  void parseParameter(ScheduleLine &result) {
    size_t nameAt = at;
    std::string name = word("=", "a parameter");
    llvm::ArrayRef<llvm::StringLiteral> known = words.parametersOf(result.kind);
    if (!llvm::is_contained(known, name))
      fail(nameAt, "expected a parameter of '" + result.kind + "' (" + listOf(known) + ")",
           wordsOf(known));
    if (result.has(name))
      fail(nameAt, "expected each parameter once");
    expect('=', "after '" + name + "'");
    size_t valueAt = at;
    std::string digits = word("", "a number");
    int64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0 ||
        value > kMaxValue)
      fail(valueAt,
           "expected a number from 0 to " + std::to_string(kMaxValue) + " for '" + name + "'");
    result.parameters.emplace_back(name, value);
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

  const ScheduleWords &words;
};

} // namespace

std::vector<ScheduleLine> parseSchedules(std::string_view text, const ScheduleWords &words) {
  std::vector<ScheduleLine> lines;
  for (int line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    LineParser parser(text.substr(0, end), line, words);
    if (!parser.atEnd())
      lines.push_back(parser.parse());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<int64_t> parameterIn(llvm::StringRef text, llvm::StringRef name) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    llvm::StringRef words = line.split('#').first.split(':').second;
    for (size_t at = words.find(name); at != llvm::StringRef::npos; at = words.find(name, at + 1)) {
      llvm::StringRef behind = words.substr(at + name.size()).ltrim();
      int64_t value = 0;
      bool isWord = at > 0 && (words[at - 1] == ' ' || words[at - 1] == '\t');
      if (isWord && behind.consume_front("=") && !behind.ltrim().consumeInteger(10, value))
        return value;
    }
  }
  return std::nullopt;
}

bool beginsWithSchedule(llvm::StringRef text, llvm::ArrayRef<llvm::StringLiteral> kinds) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    line = line.split('#').first.trim();
    if (!line.empty()) {
      llvm::StringRef verb = line.split(':').second.trim();
      return llvm::is_contained(kinds,
                                verb.take_until([](char c) { return c == ' ' || c == '\t'; }));
    }
    text = rest;
  }
  return false;
}

} // namespace headrace
