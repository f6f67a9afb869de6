// Programs of tensor expressions: inputs, axes, stages that are computed from one another.
//
//   Expr n = var("n"), k = var("k"), m = var("m");
//   Stage a = placeholder({n, k}, DType::F32, "A"), b = placeholder({k, m}, DType::F32, "B");
//   Axis r = axis(k, "r");
//   Stage c = compute({n, m}, [&](auto i) { return sum(a(i[0], r) * b(r, i[1]), {r}); }, "C");
#pragma once

#include "frontend/expr/Expr.h"

namespace headrace::expr {

/// The positions `low` to `low + extent - 1`.
struct AxisInfo {
  std::string name;
  Expr low, extent;
};

class Axis {
public:
  explicit Axis(std::shared_ptr<const AxisInfo> info);
  const AxisInfo &operator*() const { return *info; }
  const AxisInfo *operator->() const { return info.get(); }
  const AxisInfo *get() const { return info.get(); }
  /// The position along the axis.
  operator Expr() const { return position; }

private:
  std::shared_ptr<const AxisInfo> info;
  Expr position;
};

/// An axis to reduce along: positions 0 to `extent` - 1, or `low` to `high` - 1.
Axis axis(const Expr &extent, const std::string &name = "");
Axis axis(const Expr &low, const Expr &high, const std::string &name = "");

struct StageInfo;

/// A batch of linear systems (`hr.solve`).
struct Systems {
  std::shared_ptr<const StageInfo> matrix, right;
  bool complex = false, positiveDefinite = false;
};

/// A recurrence along the first dimension of its stage.
struct Recurrence {
  /// Stands for the stage itself in its body, which reads elements of earlier steps.
  std::shared_ptr<const StageInfo> self;
  /// The elements before the first step, over the axes of the stage but the first.
  Expr initial;
};

/// A tensor: an input of the program, computed by an expression, or the solution of equations.
struct StageInfo {
  std::string name;
  std::vector<Expr> shape;
  DType dtype;
  /// In order of making, which is the order of a program's inputs.
  uint64_t serial = 0;
  /// One axis per dimension and the value at a point of them; none of both for others.
  std::vector<Axis> axes;
  Expr body;
  /// Null unless the stage solves linear systems.
  std::shared_ptr<const Systems> systems = nullptr;
  /// Null unless the body is a step of a recurrence.
  std::shared_ptr<const Recurrence> recurrence = nullptr;
  /// Stands for the result of a recurrence inside its body.
  bool isSelf = false;

  bool isInput() const { return body.isNull() && !systems && !isSelf; }
};

class Stage {
public:
  explicit Stage(std::shared_ptr<const StageInfo> info) : info(std::move(info)) {}
  const StageInfo &operator*() const { return *info; }
  const StageInfo *operator->() const { return info.get(); }
  const StageInfo *get() const { return info.get(); }
  const std::shared_ptr<const StageInfo> &shared() const { return info; }

  /// The element at these indices.
  Expr read(std::vector<Expr> indices) const;
  template <class... Indices> Expr operator()(Indices... indices) const {
    return read({Expr(indices)...});
  }

private:
  std::shared_ptr<const StageInfo> info;
};

/// An input of the program. Unnamed ones get a name from their place in it.
Stage placeholder(std::vector<Expr> shape, DType dtype, const std::string &name = "");

using PointFunction = std::function<Expr(const std::vector<Expr> &)>;
/// A tensor whose element at each point is `body` of it. `axisNames` names the dimensions.
Stage compute(std::vector<Expr> shape, const PointFunction &body, const std::string &name = "",
              std::vector<std::string> axisNames = {});

/// A step of a recurrence: from the tensor itself and a point, the value there.
using StepFunction = std::function<Expr(const Stage &, const std::vector<Expr> &)>;
/// A tensor that is computed step by step along its first dimension: `step` reads elements of the
/// tensor itself that are a constant number of steps back; before the first step they are `initial`
/// of the other indices.
Stage scan(std::vector<Expr> shape, DType dtype, const StepFunction &step,
           const PointFunction &initial, const std::string &name = "",
           std::vector<std::string> axisNames = {});

/// The solution x of a x = b for matrices [..., n, n] and right-hand sides [..., n, r] of f32 or
/// f64. Complex ones have a last dimension of 2.
Stage solve(const Stage &matrix, const Stage &right, bool complex, bool positiveDefinite,
            const std::string &name = "");

/// How the values along reduced axes are combined.
struct Reduction {
  enum class Kind { Sum, Product, Min, Max, Custom };
  Kind kind;
  std::vector<Axis> axes;
  /// Custom: the neutral values, the two values, and their reduction. Each has one component,
  /// unless tuples are reduced.
  std::vector<Expr> initial = {}, first = {}, second = {}, combined = {};
};

Expr sum(const Expr &value, const std::vector<Axis> &axes);
Expr product(const Expr &value, const std::vector<Axis> &axes);
Expr minimum(const Expr &value, const std::vector<Axis> &axes);
Expr maximum(const Expr &value, const std::vector<Axis> &axes);

/// A user's reduction: `combine` must be associative and commutative, with `identity` neutral.
struct Reducer {
  std::function<Expr(const Expr &, const Expr &)> combine;
  Expr identity;
};
Expr reduce(const Reducer &reducer, const Expr &value, const std::vector<Axis> &axes);

/// A user's reduction of tuples.
struct TupleReducer {
  using Tuple = std::vector<Expr>;
  std::function<Tuple(const Tuple &, const Tuple &)> combine;
  Tuple identity;
};
/// The components of the reduction of these values, which are reduced together.
std::vector<Expr> reduce(const TupleReducer &reducer, const std::vector<Expr> &values,
                         const std::vector<Axis> &axes);

} // namespace headrace::expr
