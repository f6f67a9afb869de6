#pragma once

#include "rewrite/rule/Source.h"

#include <vector>

namespace headrace::rewrite {

enum class TokenKind {
  End,
  Identifier, ///< letters, digits, '_' and '.', with '-' between letters: `split-rows`
  Variable,   ///< `?x`; the text is what follows the question mark
  Number,
  Symbol
};

struct Token {
  TokenKind kind = TokenKind::End;
  uint32_t offset = 0;
  std::string_view text;
  int64_t number = 0;

  bool is(std::string_view symbolOrWord) const {
    return (kind == TokenKind::Symbol || kind == TokenKind::Identifier) && text == symbolOrWord;
  }
};

/// All tokens, the last one End. `#` begins a comment that ends with its line.
std::vector<Token> tokenize(const std::shared_ptr<const Source> &source);

/// How messages name a token: "'=>'", "the variable ?x", "the end of the text".
std::string nameOf(const Token &token);

} // namespace headrace::rewrite
