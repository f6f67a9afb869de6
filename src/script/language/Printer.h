#pragma once

#include "script/language/Ast.h"

namespace headrace::script {

/// Minimal: parentheses only if the tree needs them. Full: around every operator, so that equal
/// texts are equal trees.
enum class Parentheses { Minimal, Full };

std::string print(const Expr &expr, Parentheses style = Parentheses::Minimal);
/// One line for an assignment, several, indented by two, for control flow; each ends in a newline.
std::string print(const Statement &statement, Parentheses style = Parentheses::Minimal);
std::string print(const FunctionDefinition &function, Parentheses style = Parentheses::Minimal);
/// The functions, then the statements: a script that parses to the same tree.
std::string print(const Script &script, Parentheses style = Parentheses::Minimal);

/// The literal as a script writes it: 1, 0.5, TRUE, "a\n".
std::string print(const LiteralValue &value);

} // namespace headrace::script
