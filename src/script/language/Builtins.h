#pragma once

#include "script/language/Ast.h"
#include <string_view>

/// The functions that the language itself has: one table of names, parameters and results, which
/// analysis checks calls against. Which of them can be executed is not known here: an executor
/// keeps its implementations by `Builtin::canonical` and calls `failNotExecuted` for the others.
namespace headrace::script {

/// A typing rule: the type of a built-in's result from those of its arguments.
enum class ResultRule {
  None, ///< a statement: print, stop, write, assert
  Matrix,
  Double,
  Integer,
  Boolean,
  String,
  Frame,
  List,
  Tensor,
  LikeFirst, ///< the first argument's own type: rev(X)
  Bind,      ///< likewise, and a matrix for a list alone: cbind(A, B), append(L, x), rbind(L)
  Cellwise,  ///< a matrix if any argument is one, else a number: exp(x), max(a, b)
  Logical,   ///< a matrix if any argument is one, else a number, 0 or 1: isNaN(x)
  Aggregate, ///< a number for one argument, Cellwise for more: min(X), min(X, Y)
  Choice,    ///< ifelse: a matrix if any argument is one, else what both choices agree on
  Unknown
};

struct FormalParameter {
  std::string name;
  bool required = true;
};

/// The parameters that the arguments of a call are checked against.
struct Signature {
  std::vector<FormalParameter> parameters;
  bool positional = false; ///< names of arguments mean nothing: scripts write `table(a, b, dim=n)`
  bool variadic = false;   ///< further arguments may follow, with or without names
};

struct Builtin : Signature {
  std::string name;
  std::string canonical; ///< the same for all names of one function: `ceiling` is `ceil`
  size_t results = 1;    ///< how many targets a call may have at most
  ResultRule rule = ResultRule::Unknown;
};

/// Null if the language has no such function.
const Builtin *findBuiltin(std::string_view name);
/// All of them, sorted by name.
std::vector<const Builtin *> allBuiltins();

/// The type of a call's (first) result, its arguments' types being known; null ones were not given.
Type resultType(const Builtin &builtin, const std::vector<const Expr *> &arguments);

/// "svm.dml:3:5: 'cholesky' is understood but not executed yet", with the line and a caret.
[[noreturn]] void failNotExecuted(SourceLocation place, const std::string &name);

} // namespace headrace::script
