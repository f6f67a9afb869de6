#pragma once

#include "script/language/Ast.h"

/// Programs that are built operation by operation, as lazy matrices are, rather than parsed.
namespace headrace::script {

/// A variable, a literal, or an argument that is not given.
struct GraphOperand {
  std::string name; ///< of the parameter; may be empty
  std::variant<std::monostate, Variable, LiteralValue> value;
};

/// `targets = function(operands)`. The function is an operator of the language, one of its
/// functions, a function of the script path, or
///   "index"   of (x, first row, last row, first column, last column)
///   "assign"  of (x, value, first row, last row, first column, last column): x with other cells
/// whose bounds count from 1; absent ones mean all.
struct GraphOperation {
  std::vector<std::string> targets;
  std::string function;
  std::vector<GraphOperand> operands;
  std::string text; ///< one line that messages show
};

/// The operations, in their order, as a syntax tree. Throws Error if the number of an operator's
/// operands is wrong.
Script scriptOf(const std::string &name, const std::vector<GraphOperation> &operations);

} // namespace headrace::script
