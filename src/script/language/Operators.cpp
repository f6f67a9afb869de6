#include "script/language/Operators.h"

#include <array>

namespace headrace::script {

// The spelling that is printed comes first.
constexpr std::array<BinaryOperator, 18> kBinary = {{
    {"^", BinaryOp::Power, 10, CellFunction::Power, true},
    {"%*%", BinaryOp::MatrixMultiply, 8, CellFunction::Multiply},
    {"%%", BinaryOp::Modulus, 7, CellFunction::Modulus},
    {"%/%", BinaryOp::IntegerDivide, 7, CellFunction::IntegerDivide},
    {"*", BinaryOp::Multiply, 6, CellFunction::Multiply},
    {"/", BinaryOp::Divide, 6, CellFunction::Divide},
    {"+", BinaryOp::Add, 5, CellFunction::Add},
    {"-", BinaryOp::Subtract, 5, CellFunction::Subtract},
    {"<", BinaryOp::Less, 4, CellFunction::Less},
    {"<=", BinaryOp::LessEqual, 4, CellFunction::LessEqual},
    {">", BinaryOp::Greater, 4, CellFunction::Greater},
    {">=", BinaryOp::GreaterEqual, 4, CellFunction::GreaterEqual},
    {"==", BinaryOp::Equal, 4, CellFunction::Equal},
    {"!=", BinaryOp::NotEqual, 4, CellFunction::NotEqual},
    {"&", BinaryOp::And, 2, CellFunction::And},
    {"&&", BinaryOp::And, 2, CellFunction::And},
    {"|", BinaryOp::Or, 1, CellFunction::Or},
    {"||", BinaryOp::Or, 1, CellFunction::Or},
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
