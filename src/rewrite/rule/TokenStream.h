// Tokens as a parser takes them: one by one, with errors at the place of the next. A copy is a
// place to come back to.
#pragma once

#include "rewrite/rule/Lexer.h"

namespace headrace::rewrite {

class TokenStream {
public:
  explicit TokenStream(const std::shared_ptr<const Source> &source)
      : source(source), tokens(std::make_shared<const std::vector<Token>>(tokenize(source))) {}

  const Token &peek() const { return (*tokens)[at]; }
  Token take() {
    const Token &next = peek();
    at += next.kind != TokenKind::End;
    return next;
  }
  bool takeIf(std::string_view symbolOrWord) {
    bool found = peek().is(symbolOrWord);
    at += found;
    return found;
  }
  void expect(std::string_view symbol) {
    if (!takeIf(symbol))
      failHere("expected '" + std::string(symbol) + "', got " + nameOf(peek()));
  }
  Token expect(TokenKind kind, const std::string &what) {
    if (peek().kind != kind)
      failHere("expected " + what + ", got " + nameOf(peek()));
    return take();
  }
  SourceLocation place() const { return placeOf(peek()); }
  SourceLocation placeOf(const Token &token) const { return {source, token.offset}; }
  [[noreturn]] void failHere(const std::string &message) const { fail(place(), message); }

private:
  std::shared_ptr<const Source> source;
  std::shared_ptr<const std::vector<Token>> tokens;
  size_t at = 0;
};

} // namespace headrace::rewrite
