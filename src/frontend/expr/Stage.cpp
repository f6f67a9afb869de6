#include "frontend/expr/Stage.h"

#include "runtime/system/Error.h"

#include <atomic>
#include <set>

namespace headrace::expr {

static Expr positionOf(const std::shared_ptr<const AxisInfo> &info) {
  Node leaf{Op::Position, DType::I64};
  leaf.weak = true;
  leaf.axis = info;
  return makeNode(std::move(leaf));
}

Axis::Axis(std::shared_ptr<const AxisInfo> axis)
    : info(std::move(axis)), position(positionOf(info)) {}

/// Sizes are integers made of numbers and dynamic dimensions.
static void checkSize(const std::string &what, const Expr &size) {
  bool fits = isInteger(size.dtype());
  if (fits)
    switch (size.op()) {
    case Op::Number:
    case Op::Size:
      break;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::FloorDiv:
    case Op::Neg:
      for (const Expr &operand : size.operands())
        checkSize(what, operand);
      break;
    default:
      fits = false;
    }
  if (!fits)
    throw Error(ErrorKind::InvalidArgument,
                what + ": expected sizes made of integers and hr.var, got " + size.text());
}

Axis axis(const Expr &low, const Expr &high, const std::string &name) {
  std::string what = name.empty() ? "axis" : "axis '" + name + "'";
  checkSize(what, low);
  checkSize(what, high);
  bool fromZero = low.op() == Op::Number && low->integer == 0;
  return Axis(std::make_shared<const AxisInfo>(AxisInfo{name, low, fromZero ? high : high - low}));
}

Axis axis(const Expr &extent, const std::string &name) { return axis(Expr(0), extent, name); }

static std::string quoted(const std::string &name, const char *otherwise) {
  return name.empty() ? otherwise : "'" + name + "'";
}

Expr Stage::read(std::vector<Expr> indices) const {
  std::string what = "tensor " + quoted(info->name, "without a name");
  if (indices.size() != info->shape.size())
    throw Error(ErrorKind::ShapeMismatch, what + ": expected " +
                                              std::to_string(info->shape.size()) +
                                              " indices, got " + std::to_string(indices.size()));
  for (const Expr &index : indices)
    if (!isInteger(index.dtype()))
      throw Error(ErrorKind::TypeMismatch, what + ": expected integers as indices, got " +
                                               index.text() + " of type " +
                                               std::string(headrace::nameOf(index.dtype())));
  Node node{Op::Read, info->dtype};
  node.operands = std::move(indices);
  node.stage = info;
  return makeNode(std::move(node));
}

static uint64_t nextSerial() {
  static std::atomic<uint64_t> serial = 0;
  return serial++;
}

static void checkShape(const std::string &what, const std::vector<Expr> &shape) {
  for (const Expr &size : shape) {
    checkSize(what, size);
    if (size.op() == Op::Number && size->integer < 0)
      throw Error(ErrorKind::InvalidArgument,
                  what + ": expected sizes of 0 or more, got " + std::to_string(size->integer));
  }
}

Stage placeholder(std::vector<Expr> shape, DType dtype, const std::string &name) {
  std::string what = "placeholder " + quoted(name, "without a name");
  if (dtype != DType::Bool && !isFloat(dtype) && !isInteger(dtype))
    throw Error(ErrorKind::Unsupported, what +
                                            ": expected one of bool, i8, i16, i32, i64, f16, "
                                            "bf16, f32, f64, got " +
                                            std::string(headrace::nameOf(dtype)));
  checkShape(what, shape);
  return Stage(std::make_shared<const StageInfo>(
      StageInfo{name, std::move(shape), dtype, nextSerial(), {}, {}}));
}

Stage compute(std::vector<Expr> shape, const PointFunction &body, const std::string &name,
              std::vector<std::string> axisNames) {
  std::string what = "stage " + quoted(name, "without a name");
  checkShape(what, shape);
  if (!axisNames.empty() && axisNames.size() != shape.size())
    throw Error(ErrorKind::InvalidArgument,
                what + ": expected a function of " + std::to_string(shape.size()) +
                    " parameters, one for each dimension, got " + std::to_string(axisNames.size()));
  StageInfo info{name, shape, DType::Bool, 0, {}, {}};
  std::vector<Expr> point;
  for (size_t i = 0; i < shape.size(); ++i) {
    std::string axisName = axisNames.empty() ? "i" + std::to_string(i) : axisNames[i];
    info.axes.push_back(axis(shape[i], axisName));
    point.push_back(info.axes.back());
  }
  info.body = body(point);
  info.dtype = info.body.dtype();
  info.serial = nextSerial();
  return Stage(std::make_shared<const StageInfo>(std::move(info)));
}

Stage solve(const Stage &matrix, const Stage &right, bool complex, bool positiveDefinite,
            const std::string &name) {
  StageInfo info{name, right->shape, right->dtype, nextSerial(), {}, {}};
  info.systems = std::make_shared<const Systems>(
      Systems{matrix.shared(), right.shared(), complex, positiveDefinite});
  return Stage(std::make_shared<const StageInfo>(std::move(info)));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static Expr reduceNode(const Expr &value, Reduction reduction) {
  if (reduction.axes.empty())
    throw Error(ErrorKind::InvalidArgument,
                "reduction of " + value.text() + ": expected an axis to reduce along, got none");
  std::set<const AxisInfo *> seen;
  for (const Axis &axis : reduction.axes)
    if (!seen.insert(axis.get()).second)
      throw Error(ErrorKind::InvalidArgument, "reduction of " + value.text() + ": expected axis " +
                                                  quoted(axis->name, "without a name") +
                                                  " once, got it twice");
  Node node{Op::Reduce, value.dtype()};
  node.operands = {value};
  node.reduction = std::make_shared<const Reduction>(std::move(reduction));
  return makeNode(std::move(node));
}

/// Positions and numbers are reduced in their own type; bools are counted.
static Expr settled(const Expr &value, bool counts) {
  return cast(value, counts && value.dtype() == DType::Bool ? DType::I64 : value.dtype());
}

Expr sum(const Expr &value, const std::vector<Axis> &axes) {
  return reduceNode(settled(value, true), {Reduction::Kind::Sum, axes, {}, {}, {}, {}});
}
Expr product(const Expr &value, const std::vector<Axis> &axes) {
  return reduceNode(settled(value, true), {Reduction::Kind::Product, axes, {}, {}, {}, {}});
}
Expr minimum(const Expr &value, const std::vector<Axis> &axes) {
  return reduceNode(settled(value, false), {Reduction::Kind::Min, axes, {}, {}, {}, {}});
}
Expr maximum(const Expr &value, const std::vector<Axis> &axes) {
  return reduceNode(settled(value, false), {Reduction::Kind::Max, axes, {}, {}, {}, {}});
}

static Expr argument(DType type, int64_t which) {
  Node leaf{Op::Argument, type};
  leaf.integer = which;
  return makeNode(std::move(leaf));
}

Expr reduce(const Reducer &reducer, const Expr &value, const std::vector<Axis> &axes) {
  Expr settledValue = settled(value, false);
  DType type = settledValue.dtype();
  Reduction reduction{Reduction::Kind::Custom, axes, {}, argument(type, 0), argument(type, 1), {}};
  std::string what = "reduction of " + value.text();
  if (reducer.identity.op() != Op::Number)
    throw Error(ErrorKind::InvalidArgument,
                what + ": expected a number as identity, got " + reducer.identity.text());
  bool isWhole = !isFloat(reducer.identity.dtype());
  if (!isFloat(type) && !isWhole)
    throw Error(ErrorKind::TypeMismatch, what + ": expected an identity of type " +
                                             std::string(headrace::nameOf(type)) + ", got " +
                                             reducer.identity.text());
  reduction.initial = reducer.identity;
  reduction.combined = reducer.combine(reduction.first, reduction.second);
  if (!reduction.combined->weak && reduction.combined.dtype() != type)
    throw Error(ErrorKind::TypeMismatch,
                what + ": expected a reduction of values of type " +
                    std::string(headrace::nameOf(type)) + " into one, got " +
                    std::string(headrace::nameOf(reduction.combined.dtype())));
  reduction.combined = cast(reduction.combined, type);
  return reduceNode(settledValue, std::move(reduction));
}

} // namespace headrace::expr
