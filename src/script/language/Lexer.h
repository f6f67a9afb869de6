#pragma once

#include "script/language/Source.h"
#include <variant>

namespace headrace::script {

enum class TokenKind {
  End,
  Identifier, ///< also dotted (`as.scalar`) and with a namespace (`nn::forward`)
  Keyword,
  Integer,
  Double,
  String,
  Parameter, ///< `$name` or `$1`; the text is what follows the dollar
  Symbol     ///< operators and punctuation; the text says which
};

struct Token {
  TokenKind kind = TokenKind::End;
  uint32_t offset = 0;
  std::string text; ///< of strings, with escapes resolved
  std::variant<std::monostate, int64_t, double> number;

  bool is(std::string_view symbolOrKeyword) const {
    return (kind == TokenKind::Symbol || kind == TokenKind::Keyword) && text == symbolOrKeyword;
  }
};

/// All tokens of a script, the last one End. Comments and white space separate tokens and mean
/// nothing else; a line's end does not end a statement.
std::vector<Token> tokenize(const Source &source);

/// How messages name a token: "'+='", "a string", "the end of the script".
std::string nameOf(const Token &token);

} // namespace headrace::script
