#pragma once

#include "script/language/Ast.h"
#include "script/language/Lexer.h"

namespace headrace::script {

/// A position in the tokens of one script.
class TokenStream {
public:
  explicit TokenStream(const Source &source) : source(source), tokens(tokenize(source)) {}

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(position + ahead, tokens.size() - 1)];
  }
  Token take() {
    Token token = peek();
    position = std::min(position + 1, tokens.size() - 1);
    return token;
  }
  bool accept(std::string_view text) {
    bool found = peek().is(text);
    if (found)
      take();
    return found;
  }
  /// Words such as `in` have a meaning in their place only, and are names elsewhere.
  void expectWord(std::string_view word, const std::string &where) {
    if (peek().kind != TokenKind::Identifier || peek().text != word)
      failHere("expected '" + std::string(word) + "' " + where);
    take();
  }
  /// `where` completes "expected ')' ..., found ...".
  void expect(std::string_view text, const std::string &where) {
    if (!accept(text))
      failHere("expected '" + std::string(text) + "' " + where);
  }
  Token expect(TokenKind kind, const std::string &what) {
    if (peek().kind != kind)
      failHere("expected " + what);
    return take();
  }
  [[noreturn]] void failHere(const std::string &expected) const {
    const char *hint = peek().is("<-") ? ": a comparison with a negative value is 'a < -b'" : "";
    fail(place(), expected + ", got " + nameOf(peek()) + hint);
  }
  SourceLocation place() const { return placeOf(peek()); }
  SourceLocation placeOf(const Token &token) const { return {&source, token.offset}; }

  /// Whether the bracket that comes next is the `[a, b] = ...` of a new statement rather than an
  /// index: statements need no separator, so only what follows the closing bracket tells.
  bool bracketStartsStatement() const;

private:
  const Source &source;
  std::vector<Token> tokens;
  size_t position = 0;
};

/// Throws an Error beyond the limit; one lives in every function that recurses.
class Nesting {
public:
  Nesting(int &depth, int limit, SourceLocation place, const char *what) : depth(depth) {
    if (depth >= limit)
      fail(place, std::string(what) + " nested more than " + std::to_string(limit) + " deep");
    ++depth;
  }
  ~Nesting() { --depth; }
  Nesting(const Nesting &) = delete;
  Nesting &operator=(const Nesting &) = delete;

private:
  int &depth;
};

class ExpressionParser {
public:
  explicit ExpressionParser(TokenStream &tokens) : tokens(tokens) {}

  ExprPtr parse() { return binary(0).expr; }
  /// `name = value` or `value`, up to the closing parenthesis, which is taken.
  std::vector<Argument> arguments();
  /// Indices after an opening bracket, up to the closing one, which is taken.
  IndexRanges ranges();

private:
  /// Trees grow deep without recursion too: `1 + 1 + 1 + ...`
  struct Tree {
    ExprPtr expr;
    int height = 1;
  };

  Tree binary(int minimum);
  Tree prefix();
  Tree primary();
  Tree word(const Token &name);
  Tree ifDefined(SourceLocation place);
  Tree tuple(SourceLocation place);
  Tree bounded(ExprPtr expr, int height) const;

  TokenStream &tokens;
  int depth = 0;
};

} // namespace headrace::script
