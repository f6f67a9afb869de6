// Scalar expressions over the elements of tensors, positions and sizes. They are what a stage
// computes at one point (see Stage.h). Immutable and cheap to copy; no MLIR here.
//
// Types. Numbers, positions (axes) and sizes are weak: next to anything else they take its type.
//   bool < integers < floats; within a kind the wider type; f16 with bf16 is f32
//   a float number next to integers or bools is f64; alone it is f32, an integer i64
//   arithmetic on bools counts them, in i64
//   / on integers and functions of real numbers (exp, ...) give f64; of weak ones, f32
//   // and % round toward minus infinity, as in Python; an integer divided by zero is 0
#pragma once

#include "runtime/tensor/DType.h"

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace::expr {

enum class Op : uint8_t {
  // Leaves
  Number,
  Size,     // a dynamic dimension of the program
  Position, // along an axis
  Argument, // of a user's way to combine two values
  // One operand
  Neg,
  Not,
  Abs,
#define HEADRACE_FUNCTION(Id, ...) Id,
#include "runtime/scalar/Functions.def"
  Cast,
  // Two operands
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  Min,
  Max,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
  // More
  Select,
  Read,  // an element of a stage
  Tuple, // the values that a user's reduction takes together
  Reduce // of the operand along axes; of a tuple, one component
};

struct Node;
struct StageInfo;
struct AxisInfo;
struct SizeInfo;
struct Reduction;

class Expr {
public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  // Numbers stand for expressions, as in `2 * x`.
  Expr(int64_t value);
  Expr(int value) : Expr(static_cast<int64_t>(value)) {}
  Expr(double value);
  /// Converts a bool, but not values that convert to bool.
  template <std::same_as<bool> T> Expr(T value) : Expr(condition(value)) {}

  bool isNull() const { return !node; }
  const Node &operator*() const { return *node; }
  const Node *operator->() const { return node.get(); }
  const Node *get() const { return node.get(); }

  Op op() const;
  DType dtype() const;
  const std::vector<Expr> &operands() const;
  /// The expression as the user would write it, shortened if it is long.
  std::string text() const;

private:
  static Expr condition(bool value);

  std::shared_ptr<const Node> node;
};

struct Node {
  Op op;
  DType dtype;
  bool weak = false;
  unsigned depth = 1;
  std::vector<Expr> operands = {};
  double number = 0;   // of a float
  int64_t integer = 0; // of an integer or bool; which argument or component
  std::shared_ptr<const SizeInfo> size = nullptr;
  std::shared_ptr<const AxisInfo> axis = nullptr;
  std::shared_ptr<const StageInfo> stage = nullptr;
  std::shared_ptr<const Reduction> reduction = nullptr;
};

struct SizeInfo {
  std::string name;
  int64_t least;
};

/// A dynamic dimension of the program, of `least` or more.
Expr var(const std::string &name, int64_t least = 0);

/// Any operator of one operand but Cast, of two, or Select; throws Error if types do not fit.
Expr apply(Op op, std::vector<Expr> operands);
Expr cast(const Expr &value, DType type);

inline Expr operator+(const Expr &a, const Expr &b) { return apply(Op::Add, {a, b}); }
inline Expr operator-(const Expr &a, const Expr &b) { return apply(Op::Sub, {a, b}); }
inline Expr operator*(const Expr &a, const Expr &b) { return apply(Op::Mul, {a, b}); }
inline Expr operator/(const Expr &a, const Expr &b) { return apply(Op::Div, {a, b}); }
inline Expr operator%(const Expr &a, const Expr &b) { return apply(Op::Mod, {a, b}); }
inline Expr operator-(const Expr &a) { return apply(Op::Neg, {a}); }
inline Expr operator<(const Expr &a, const Expr &b) { return apply(Op::Less, {a, b}); }
inline Expr operator<=(const Expr &a, const Expr &b) { return apply(Op::LessEqual, {a, b}); }
inline Expr operator>(const Expr &a, const Expr &b) { return apply(Op::Greater, {a, b}); }
inline Expr operator>=(const Expr &a, const Expr &b) { return apply(Op::GreaterEqual, {a, b}); }
inline Expr floorDiv(const Expr &a, const Expr &b) { return apply(Op::FloorDiv, {a, b}); }
inline Expr min(const Expr &a, const Expr &b) { return apply(Op::Min, {a, b}); }
inline Expr max(const Expr &a, const Expr &b) { return apply(Op::Max, {a, b}); }
inline Expr pow(const Expr &a, const Expr &b) { return apply(Op::Pow, {a, b}); }
inline Expr equal(const Expr &a, const Expr &b) { return apply(Op::Equal, {a, b}); }
inline Expr select(const Expr &condition, const Expr &yes, const Expr &no) {
  return apply(Op::Select, {condition, yes, no});
}
inline Expr exp(const Expr &a) { return apply(Op::Exp, {a}); }
inline Expr log(const Expr &a) { return apply(Op::Log, {a}); }
/// Every one, or at least one, of the conditions.
Expr all(const std::vector<Expr> &conditions);
Expr any(const std::vector<Expr> &conditions);

bool isFloat(DType type);
bool isInteger(DType type);

/// A node whose depth follows from its operands; throws Error if an expression gets too deep.
Expr makeNode(Node node);

/// "sin", "//": the name of an operator as the user writes it.
const char *nameOf(Op op);

} // namespace headrace::expr
