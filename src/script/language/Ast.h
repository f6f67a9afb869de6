#pragma once

#include "script/language/Source.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The syntax tree of a DML script. `parse` makes it; `analyze` turns it into the blocks of a
/// Program, whose statements are made of the same nodes.
namespace headrace::script {

struct Builtin;

// --- Types -----------------------------------------------------------------------------------

enum class DataType : uint8_t { Unknown, Scalar, Matrix, Frame, List, Tensor };
enum class ValueType : uint8_t { Unknown, Double, Integer, Boolean, String };

/// The type of a value as far as it is known. `Matrix[Double]`, `Double`, `list[unknown]`.
struct Type {
  DataType data = DataType::Unknown;
  ValueType value = ValueType::Unknown;

  static Type scalar(ValueType value) { return {DataType::Scalar, value}; }
  static Type matrix() { return {DataType::Matrix, ValueType::Double}; }
  bool isScalar() const { return data == DataType::Scalar; }
  bool isMatrix() const { return data == DataType::Matrix; }
  bool isString() const { return isScalar() && value == ValueType::String; }
  bool operator==(const Type &) const = default;
};

/// The type as a script writes it.
std::string toText(Type type);

// --- Expressions -----------------------------------------------------------------------------

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

using LiteralValue = std::variant<int64_t, double, bool, std::string>;

struct Literal {
  LiteralValue value;
};

struct Variable {
  std::string name;
};

/// `$name` or `$1`; analysis puts the literal given by the user in its place.
struct Parameter {
  std::string name;
};

/// `ifdef($name, otherwise)`
struct IfDefined {
  std::string name;
  ExprPtr otherwise;
};

enum class UnaryOp { Plus, Minus, Not };
struct Unary {
  UnaryOp op;
  ExprPtr operand;
};

enum class BinaryOp {
  Power,
  MatrixMultiply,
  Modulus,
  IntegerDivide,
  Multiply,
  Divide,
  Add,
  Subtract,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or
};
struct Binary {
  BinaryOp op;
  ExprPtr left, right;
};

/// An argument as written: `value` or `name = value`.
struct Argument {
  std::string name;
  ExprPtr value;
  SourceLocation place;
};

/// `f(...)` or `space::f(...)`. In an analyzed program it is a built-in function's: `builtin` is
/// set, and `arguments` has one entry per parameter in the table's order, with a null value if
/// none was given (of a variadic built-in, the arguments as written follow the named ones).
struct Call {
  std::string space;
  std::string name;
  std::vector<Argument> arguments;
  const Builtin *builtin = nullptr;

  std::string fullName() const { return space.empty() ? name : space + "::" + name; }
};

/// One dimension of an index: all (`X[,j]`), one (`first` alone), or `first:last`.
struct IndexRange {
  ExprPtr first, last;
  bool all() const { return !first; }
};

/// Indices in brackets. `L[i]` has one dimension, `X[i,]` two.
struct IndexRanges {
  IndexRange rows, columns;
  bool twoDimensional = false;
};

/// `X[rows, columns]`, `L[position]`, `L["name"]`
struct Index {
  std::string name;
  IndexRanges ranges;
};

/// `[a, b]`: several values as one argument, as convolutions take shapes.
struct Tuple {
  std::vector<ExprPtr> elements;
};

struct Expr {
  using Node =
      std::variant<Literal, Variable, Parameter, IfDefined, Unary, Binary, Call, Index, Tuple>;

  SourceLocation place;
  Node node;
  Type type; ///< set by analysis, as far as it is known

  template <typename T> T *as() { return std::get_if<T>(&node); }
  template <typename T> const T *as() const { return std::get_if<T>(&node); }
};

template <typename Node> ExprPtr makeExpr(SourceLocation place, Node node) {
  return std::make_unique<Expr>(Expr{place, std::move(node), {}});
}

/// A copy that shares nothing with its original but the source and the built-in table.
ExprPtr clone(const Expr &expr);
IndexRanges clone(const IndexRanges &ranges);

/// Calls `visit` on each direct operand, in the order they are written.
template <typename Visit> void forEachOperand(const IndexRanges &ranges, Visit visit) {
  for (const ExprPtr *part :
       {&ranges.rows.first, &ranges.rows.last, &ranges.columns.first, &ranges.columns.last})
    if (*part)
      visit(**part);
}

template <typename Visit> void forEachOperand(const Expr &expr, Visit visit) {
  if (auto *unary = expr.as<Unary>()) {
    visit(*unary->operand);
  } else if (auto *binary = expr.as<Binary>()) {
    visit(*binary->left);
    visit(*binary->right);
  } else if (auto *call = expr.as<Call>()) {
    for (const Argument &argument : call->arguments)
      if (argument.value)
        visit(*argument.value);
  } else if (auto *index = expr.as<Index>()) {
    forEachOperand(index->ranges, visit);
  } else if (auto *tuple = expr.as<Tuple>()) {
    for (const ExprPtr &element : tuple->elements)
      visit(*element);
  } else if (auto *defined = expr.as<IfDefined>()) {
    visit(*defined->otherwise);
  }
}

// --- Statements ------------------------------------------------------------------------------

struct Statement;
using StatementPtr = std::unique_ptr<Statement>;
using StatementList = std::vector<StatementPtr>;

/// `x`, or `X[rows, columns]` on the left of an assignment.
struct Target {
  std::string name;
  std::optional<IndexRanges> ranges;
  SourceLocation place;
};

/// `x = value`, `x += value`, `[a, b] = f(...)`, and `f(...)` alone, which has no target.
/// In an analyzed program `+=` is spelled out and does not occur.
struct Assign {
  std::vector<Target> targets;
  bool accumulate = false;
  ExprPtr value;
};

struct If {
  ExprPtr condition;
  StatementList then, otherwise;
};

struct While {
  ExprPtr condition;
  StatementList body;
};

/// `for (i in from:to)`, `parfor (i in seq(from, to, step), check = 0)`
struct For {
  std::string variable;
  ExprPtr from, to, step; ///< step may be null
  bool parallel = false;
  std::vector<Argument> options;
  StatementList body;
};

/// `source("file.dml") as space`
struct Import {
  std::string path;
  std::string space;
};

/// `setwd("folder")`
struct SetFolder {
  std::string path;
};

struct Statement {
  using Node = std::variant<Assign, If, While, For, Import, SetFolder>;
  SourceLocation place;
  Node node;

  template <typename T> T *as() { return std::get_if<T>(&node); }
  template <typename T> const T *as() const { return std::get_if<T>(&node); }
};

// --- Functions and scripts -------------------------------------------------------------------

struct TypedName {
  Type type;
  std::string name;
  ExprPtr defaultValue; ///< may be null; may mention parameters that are before it
  SourceLocation place;
};

struct FunctionDefinition {
  std::string name;
  std::vector<TypedName> inputs, outputs;
  StatementList body;
  /// `externalFunction ... implemented in (classname = "...")` has these instead of a body.
  bool external = false;
  std::map<std::string, std::string> implementation;
  SourceLocation place;
};

/// One file. The tree points into the source.
struct Script {
  std::shared_ptr<const Source> source;
  StatementList statements;
  std::vector<FunctionDefinition> functions;
};

} // namespace headrace::script
