#include "script/language/Operators.h"

#include <array>

namespace headrace::script {

// The spelling that is printed comes first.
constexpr std::array<BinaryOperator, 18> kBinary = {{
    {"^", BinaryOp::Power, 10, true},
    {"%*%", BinaryOp::MatrixMultiply, 8},
    {"%%", BinaryOp::Modulus, 7},
    {"%/%", BinaryOp::IntegerDivide, 7},
    {"*", BinaryOp::Multiply, 6},
    {"/", BinaryOp::Divide, 6},
    {"+", BinaryOp::Add, 5},
    {"-", BinaryOp::Subtract, 5},
    {"<", BinaryOp::Less, 4},
    {"<=", BinaryOp::LessEqual, 4},
    {">", BinaryOp::Greater, 4},
    {">=", BinaryOp::GreaterEqual, 4},
    {"==", BinaryOp::Equal, 4},
    {"!=", BinaryOp::NotEqual, 4},
    {"&", BinaryOp::And, 2},
    {"&&", BinaryOp::And, 2},
    {"|", BinaryOp::Or, 1},
    {"||", BinaryOp::Or, 1},
}};

constexpr std::array<UnaryOperator, 3> kUnary = {{
    {"+", UnaryOp::Plus, 9},
    {"-", UnaryOp::Minus, 9},
    {"!", UnaryOp::Not, 3},
}};

const BinaryOperator *binaryOperator(std::string_view symbol) {
  for (const BinaryOperator &entry : kBinary)
    if (entry.symbol == symbol)
      return &entry;
  return nullptr;
}

const UnaryOperator *unaryOperator(std::string_view symbol) {
  for (const UnaryOperator &entry : kUnary)
    if (entry.symbol == symbol)
      return &entry;
  return nullptr;
}

const BinaryOperator &describe(BinaryOp op) {
  for (const BinaryOperator &entry : kBinary)
    if (entry.op == op)
      return entry;
  throw InternalError("binary operator without an entry in the table");
}

const UnaryOperator &describe(UnaryOp op) {
  for (const UnaryOperator &entry : kUnary)
    if (entry.op == op)
      return entry;
  throw InternalError("unary operator without an entry in the table");
}

} // namespace headrace::script
