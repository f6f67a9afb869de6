#pragma once

#include "script/language/CellFunctions.h"

namespace headrace::script {

/// How tightly an operator binds: the higher, the tighter. Parser and printer share it.
///   10 ^ (right to left)   9 unary + -   8 %*%   7 %% %/%   6 * /   5 + -
///    4 < <= > >= == !=     3 !           2 &     1 |
struct BinaryOperator {
  std::string_view symbol;
  BinaryOp op;
  int precedence;
  CellFunction cell; ///< what it does to cells; matrix multiplication has no such function
  bool rightToLeft = false;
};

struct UnaryOperator {
  std::string_view symbol;
  UnaryOp op;
  int precedence;
};

/// Null if the symbol is not such an operator; `&&` and `||` are `&` and `|`.
const BinaryOperator *binaryOperator(std::string_view symbol);
const UnaryOperator *unaryOperator(std::string_view symbol);

const BinaryOperator &describe(BinaryOp op);
const UnaryOperator &describe(UnaryOp op);

} // namespace headrace::script
