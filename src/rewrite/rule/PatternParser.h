// The parts of a rule, from tokens: patterns and expressions over the rule's variables.
#pragma once

#include "rewrite/rule/Language.h"
#include "rewrite/rule/Rule.h"
#include "rewrite/rule/TokenStream.h"

namespace headrace::rewrite {

class PatternParser {
public:
  PatternParser(TokenStream &tokens, Vocabulary &vocabulary, const Language *language)
      : tokens(tokens), vocabulary(vocabulary), language(language) {}

  /// On the left side of a rule variables come to be; elsewhere they must be there.
  enum class Side { Left, Right };
  Pattern pattern(Side side);
  /// `?name = EXPRESSION` or a condition.
  Clause clause();
  uint32_t newValue(const Token &variable);

  std::vector<std::string> subjects, values;

private:
  Expression leftAttribute();
  Expression expression(int strength = 0);
  Expression operand();
  Expression call(const Token &name);
  Expression nameLiteral(const Token &name);
  uint32_t slotOf(std::vector<std::string> &names, const Token &variable, Side side,
                  const std::vector<std::string> &others, const char *what);
  void checkOperator(const Pattern &pattern, const Token &name) const;
  void checkCall(const Expression &call, const Token &name) const;

  TokenStream &tokens;
  Vocabulary &vocabulary;
  const Language *language;
  int depth = 0;
};

} // namespace headrace::rewrite
