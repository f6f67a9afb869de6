#include "rewrite/rule/Lexer.h"

#include "runtime/system/Text.h"

#include <array>
#include <charconv>

namespace headrace::rewrite {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWordPart(char c) { return isLetter(c) || isDigit(c) || c == '.'; }

// Longer ones first: the first that fits is taken.
constexpr std::array<std::string_view, 24> symbols = {
    "<=>", "=>", "==", "!=", "<=", ">=", "(", ")", "[", "]", ",", "=",
    "<",   ">",  "+",  "-",  "*",  "/",  "%", ":", ";", "{", "}", "|"};

class Lexer {
public:
  explicit Lexer(const std::shared_ptr<const Source> &source)
      : source(source), text(source->text()) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do
      tokens.push_back(next());
    while (tokens.back().kind != TokenKind::End);
    return tokens;
  }

private:
  Token next() {
    skipSpace();
    start = at;
    if (at == text.size())
      return token(TokenKind::End);
    char c = text[at];
    if (isDigit(c))
      return number();
    if (isLetter(c)) {
      skipWord();
      return token(TokenKind::Identifier);
    }
    if (c == '?' && at + 1 < text.size() && isLetter(text[at + 1])) {
      start = ++at;
      while (at < text.size() && isWordPart(text[at]))
        ++at;
      return token(TokenKind::Variable);
    }
    for (std::string_view symbol : symbols)
      if (text.substr(at).starts_with(symbol)) {
        at += symbol.size();
        return token(TokenKind::Symbol);
      }
    fail({source, static_cast<uint32_t>(at)},
         "expected a name, a number, a variable such as ?x or a symbol, got " +
             inQuotes(text.substr(at, 1)));
  }

  void skipSpace() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '#')
        at = std::min(text.find('\n', at), text.size());
      else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        ++at;
      else
        return;
    }
  }

  // A '-' belongs to a word only between parts of it: `?n-1` is a difference, `split-rows` a name.
  void skipWord() {
    while (at < text.size() && (isWordPart(text[at]) || (text[at] == '-' && at + 1 < text.size() &&
                                                         isLetter(text[at + 1]))))
      ++at;
  }

  Token number() {
    Token result = token(TokenKind::Number);
    auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), result.number);
    at = static_cast<size_t>(end - text.data());
    if (error != std::errc() || (at < text.size() && isWordPart(text[at])))
      fail({source, static_cast<uint32_t>(start)},
           "expected an integer of at most 9223372036854775807");
    result.text = text.substr(start, at - start);
    return result;
  }

  Token token(TokenKind kind) const {
    uint32_t offset = static_cast<uint32_t>(kind == TokenKind::Variable ? start - 1 : start);
    return {kind, offset, text.substr(start, at - start), 0};
  }

  const std::shared_ptr<const Source> &source;
  std::string_view text;
  size_t at = 0, start = 0;
};

} // namespace

std::vector<Token> tokenize(const std::shared_ptr<const Source> &source) {
  return Lexer(source).run();
}

std::string nameOf(const Token &token) {
  switch (token.kind) {
  case TokenKind::End:
    return "the end of the text";
  case TokenKind::Variable:
    return "the variable " + escaped("?" + std::string(token.text));
  default:
    return inQuotes(token.text);
  }
}

} // namespace headrace::rewrite
