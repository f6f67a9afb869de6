// Strings cut into tokens: characters, what is between separators, or what an expression matches.
#include "runtime/operators/Characters.h"
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/RegularExpression.h"
#include "runtime/system/Text.h"

#include <algorithm>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

namespace {

/// The attributes of a node.
class Tokenization {
public:
  explicit Tokenization(HostCall &c)
      : isMarked(c.node.getInt("mark", 0) != 0), padding(c.node.getString("pad_value", "")) {
    int64_t given = c.node.getInt("mincharnum", 1);
    if (given < 1)
      c.fail(ErrorKind::InvalidModel,
             "attribute 'mincharnum': expected 1 or more, got " + std::to_string(given));
    least = static_cast<size_t>(given);
    std::vector<std::string> patterns = c.node.getStrings("separators");
    std::string attribute = "separators";
    if (!c.node.find("separators")) {
      attribute = "tokenexp";
      patterns = {c.node.getString("tokenexp", "")};
      if (patterns.front().empty())
        c.fail(ErrorKind::InvalidModel,
               "expected an attribute 'separators' or 'tokenexp', got neither");
      isByCharacter = patterns.front() == ".";
      isOfTokens = true;
    } else if (patterns.empty()) {
      c.fail(ErrorKind::InvalidModel, "attribute 'separators': expected one or more, got none");
    } else {
      isByCharacter = patterns.size() == 1 && patterns.front().empty();
    }
    if (isByCharacter && least > 1)
      c.fail(ErrorKind::InvalidModel,
             "attribute 'mincharnum': expected 1 for tokens of one character, got " +
                 std::to_string(least));
    if (isByCharacter)
      return;
    for (const std::string &pattern : patterns)
      try {
        expressions.emplace_back(pattern);
      } catch (const Error &error) {
        c.fail(error.kind(), "attribute " + inQuotes(attribute) + ": " + error.what());
      }
  }

  std::vector<RegexMatcher> matchers() const { return {expressions.begin(), expressions.end()}; }
  /// The tokens of a text, which they refer to; the matchers are those of a call.
  std::vector<std::wstring_view> tokensOf(std::wstring_view text,
                                          std::vector<RegexMatcher> &matchers) const {
    if (isByCharacter)
      return characters(text);
    return isOfTokens ? matched(text, matchers.front()) : separated(text, matchers);
  }

  const bool isMarked;       // by a token of its own before and after those of a text
  const std::string padding; // after the tokens of a text that has fewer than others

private:
  static std::vector<std::wstring_view> characters(std::wstring_view text) {
    std::vector<std::wstring_view> tokens;
    for (size_t i = 0; i < text.size(); ++i)
      tokens.push_back(text.substr(i, 1));
    return tokens;
  }

  /// A match that is too short is passed over by one character.
  std::vector<std::wstring_view> matched(std::wstring_view text, RegexMatcher &token) const {
    std::vector<std::wstring_view> tokens;
    size_t from = 0;
    while (auto match = token.find(text, from)) {
      bool isLong = match->length >= least;
      if (isLong)
        tokens.push_back(text.substr(match->begin, match->length));
      from = match->begin + (isLong ? match->length : 1);
    }
    return tokens;
  }

  /// Cuts the text between matches of the first expression by the second one, and so on.
  std::vector<std::wstring_view> separated(std::wstring_view text,
                                           std::vector<RegexMatcher> &separators) const {
    std::vector<std::wstring_view> tokens{text};
    for (RegexMatcher &separator : separators) {
      std::vector<std::wstring_view> parts;
      for (std::wstring_view token : tokens)
        cut(token, separator, parts);
      tokens = std::move(parts);
    }
    return tokens;
  }

  /// An empty match separates nothing.
  void cut(std::wstring_view text, RegexMatcher &separator,
           std::vector<std::wstring_view> &parts) const {
    size_t begin = 0, from = 0;
    auto add = [&](size_t end) {
      if (end - begin >= least)
        parts.push_back(text.substr(begin, end - begin));
    };
    while (auto match = separator.find(text, from)) {
      from = match->begin + std::max<size_t>(match->length, 1);
      if (match->length == 0)
        continue;
      add(match->begin);
      begin = from;
    }
    add(text.size());
  }

  size_t least = 1; // characters of a token
  bool isByCharacter = false;
  bool isOfTokens = false; // what the one expression matches, else separators
  std::vector<RegularExpression> expressions;
};

} // namespace

static const std::string kStartOfText = "\x02", kEndOfText = "\x03";

/// The tokens of each string as one more dimension, as long as the most tokens of one.
static Values tokenize(HostCall &c) {
  const StringTensor &texts = c.strings(0);
  if (texts.shape.empty() || texts.shape.size() > 2)
    c.fail(ErrorKind::ShapeMismatch,
           c.nameOfInput(0) + ": expected rank 1 or 2, got " + describe(c.input(0)));
  auto tokenization = c.prepared.get<Tokenization>([&] { return Tokenization(c); });
  StringTensor result{texts.shape, {}};
  if (texts.elements.empty()) {
    result.shape.back() = 0; // as ONNX Runtime does, without a dimension of tokens
    return {result};
  }
  std::vector<RegexMatcher> matchers = tokenization->matchers();
  std::vector<std::vector<std::string>> rows;
  size_t longest = 0;
  for (const std::string &text : texts.elements) {
    if (!isUtf8(text))
      c.fail(ErrorKind::InvalidArgument,
             c.nameOfInput(0) + ": expected text in UTF-8, got " + inQuotes(text));
    std::wstring characters = toCharacters(text);
    std::vector<std::string> &row = rows.emplace_back();
    for (std::wstring_view token : tokenization->tokensOf(characters, matchers))
      row.push_back(toUtf8(token));
    longest = std::max(longest, row.size());
  }
  // Without any token there are no marks either.
  bool isMarked = tokenization->isMarked && longest > 0;
  result.shape.push_back(static_cast<int64_t>(longest + (isMarked ? 2 : 0)));
  for (std::vector<std::string> &row : rows) {
    size_t missing = longest - row.size();
    if (isMarked)
      result.elements.push_back(kStartOfText);
    std::move(row.begin(), row.end(), std::back_inserter(result.elements));
    if (isMarked)
      result.elements.push_back(kEndOfText);
    result.elements.insert(result.elements.end(), missing, tokenization->padding);
  }
  return {result};
}

HostFamily tokenizerOperators() {
  static const HostOperator table[] = {{"com.microsoft", "Tokenizer", 1, tokenize}};
  return table;
}

} // namespace headrace::operators
