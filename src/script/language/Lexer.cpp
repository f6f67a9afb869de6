#include "script/language/Lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace headrace::script {

// The characters of the language are ASCII, whatever the locale.
static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool isWord(char c) { return isLetter(c) || isDigit(c) || c == '_'; }

constexpr std::array<std::string_view, 13> kKeywords = {
    "if",     "else",  "for",   "parfor", "while", "function", "return", "externalFunction",
    "source", "setwd", "ifdef", "TRUE",   "FALSE"};

/// The longest come first: `%*%` before `%%`, `<-` before `<`.
constexpr std::array<std::string_view, 32> kSymbols = {
    "%*%", "%/%", "%%", "<-", "<=", ">=", "==", "!=", "+=", "&&", "||", "(", ")", "[", "]", "{",
    "}",   ",",   ";",  ":",  "=",  "+",  "-",  "*",  "/",  "^",  "<",  ">", "!", "&", "|", "."};

namespace {

class Lexer {
public:
  explicit Lexer(const Source &source) : source(source), text(source.text()) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do {
      skipBlanks();
      tokens.push_back(next());
    } while (tokens.back().kind != TokenKind::End);
    return tokens;
  }

private:
  char at(size_t index) const { return index < text.size() ? text[index] : '\0'; }
  SourceLocation place(size_t offset) const { return {&source, static_cast<uint32_t>(offset)}; }

  void skipBlanks() {
    while (position < text.size()) {
      char c = text[position];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++position;
      } else if (c == '#') {
        position = std::min(text.find('\n', position), text.size());
      } else if (c == '/' && at(position + 1) == '*') {
        size_t end = text.find("*/", position + 2);
        if (end == std::string_view::npos)
          fail(place(position), "the comment that begins here has no end: expected '*/'");
        position = end + 2;
      } else {
        return;
      }
    }
  }

  Token next() {
    Token token;
    token.offset = static_cast<uint32_t>(position);
    char c = at(position);
    if (position == text.size())
      return token;
    if (isLetter(c))
      readWord(token);
    else if (isDigit(c) || (c == '.' && isDigit(at(position + 1))))
      readNumber(token);
    else if (c == '"' || c == '\'')
      readString(token);
    else if (c == '$')
      readParameter(token);
    else
      readSymbol(token);
    return token;
  }

  void skipWord() {
    while (isWord(at(position)))
      ++position;
  }

  void readWord(Token &token) {
    skipWord();
    while (at(position) == '.' && isLetter(at(position + 1))) {
      ++position;
      skipWord();
    }
    if (at(position) == ':' && at(position + 1) == ':' && isLetter(at(position + 2))) {
      position += 2;
      skipWord();
    }
    token.text = text.substr(token.offset, position - token.offset);
    bool keyword = std::ranges::find(kKeywords, token.text) != kKeywords.end();
    token.kind = keyword ? TokenKind::Keyword : TokenKind::Identifier;
  }

  void skipDigits() {
    while (isDigit(at(position)))
      ++position;
  }

  void readNumber(Token &token) {
    token.kind = TokenKind::Integer;
    skipDigits();
    if (at(position) == '.') {
      token.kind = TokenKind::Double;
      ++position;
      skipDigits();
    }
    if (at(position) == 'e' || at(position) == 'E') {
      size_t sign = at(position + 1) == '+' || at(position + 1) == '-';
      if (!isDigit(at(position + 1 + sign)))
        fail(place(position), "expected digits after the exponent of a number");
      token.kind = TokenKind::Double;
      position += 1 + sign;
      skipDigits();
    }
    token.text = text.substr(token.offset, position - token.offset);
    if (at(position) == 'L' || at(position) == 'l')
      ++position;
    if (isWord(at(position)))
      fail(place(token.offset),
           "expected a number, got '" +
               std::string(text.substr(token.offset, position - token.offset + 1)) +
               "': a name begins with a letter");
    convert(token);
  }

  void convert(Token &token) const {
    const char *begin = token.text.data();
    const char *end = begin + token.text.size();
    if (token.kind == TokenKind::Integer) {
      int64_t value = 0;
      if (std::from_chars(begin, end, value).ec != std::errc())
        fail(place(token.offset), "expected an integer below 2^63, got " + token.text);
      token.number = value;
      return;
    }
    double value = 0;
    // Out of range is infinity or zero, as arithmetic would give.
    if (std::from_chars(begin, end, value).ec == std::errc::result_out_of_range)
      value = std::strtod(token.text.c_str(), nullptr);
    token.number = value;
  }

  void readString(Token &token) {
    token.kind = TokenKind::String;
    char quote = text[position++];
    while (at(position) != quote) {
      if (position == text.size())
        fail(place(token.offset),
             std::string("the string that begins here has no end: expected ") + quote);
      token.text += at(position) == '\\' ? readEscape() : text[position++];
    }
    ++position;
  }

  char readEscape() {
    constexpr std::string_view names = "btnfr\"'\\";
    constexpr std::string_view values = "\b\t\n\f\r\"'\\";
    size_t which = names.find(at(position + 1));
    if (which == std::string_view::npos)
      fail(place(position), "expected one of \\b \\t \\n \\f \\r \\\" \\' \\\\ in a string");
    position += 2;
    return values[which];
  }

  void readParameter(Token &token) {
    token.kind = TokenKind::Parameter;
    ++position;
    if (isLetter(at(position)))
      skipWord();
    else
      skipDigits();
    token.text = text.substr(token.offset + 1, position - token.offset - 1);
    if (token.text.empty())
      fail(place(token.offset), "expected a parameter's name or number after '$'");
  }

  void readSymbol(Token &token) {
    token.kind = TokenKind::Symbol;
    for (std::string_view symbol : kSymbols)
      if (text.substr(position, symbol.size()) == symbol) {
        token.text = symbol;
        position += symbol.size();
        return;
      }
    char c = text[position];
    bool printable = c > ' ' && c < 0x7F;
    fail(place(position), printable ? std::string("unexpected character '") + c + "'"
                                    : "unexpected character outside ASCII");
  }

  const Source &source;
  std::string_view text;
  size_t position = 0;
};

} // namespace

std::vector<Token> tokenize(const Source &source) { return Lexer(source).run(); }

std::string nameOf(const Token &token) {
  constexpr size_t longest = 40;
  std::string text =
      token.text.size() > longest ? token.text.substr(0, longest) + "..." : token.text;
  switch (token.kind) {
  case TokenKind::End:
    return "the end of the script";
  case TokenKind::String:
    return "a string";
  case TokenKind::Parameter:
    return "'$" + text + "'";
  default:
    return "'" + text + "'";
  }
}

} // namespace headrace::script
