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

/// The axes of a stage, named by the parameters of its function.
static std::vector<Axis> axesOf(const std::string &what, const std::vector<Expr> &shape,
                                const std::vector<std::string> &names) {
  checkShape(what, shape);
  if (!names.empty() && names.size() != shape.size())
    throw Error(ErrorKind::InvalidArgument,
                what + ": expected a function of " + std::to_string(shape.size()) +
                    " parameters, one for each dimension, got " + std::to_string(names.size()));
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    axes.push_back(axis(shape[i], names.empty() ? "i" + std::to_string(i) : names[i]));
  return axes;
}

Stage compute(std::vector<Expr> shape, const PointFunction &body, const std::string &name,
              std::vector<std::string> axisNames) {
  std::string what = "stage " + quoted(name, "without a name");
  StageInfo info{name, shape, DType::Bool, 0, axesOf(what, shape, axisNames), {}};
  info.body = body({info.axes.begin(), info.axes.end()});
  info.dtype = info.body.dtype();
  info.serial = nextSerial();
  return Stage(std::make_shared<const StageInfo>(std::move(info)));
}

/// A number takes the type; anything else must have it.
static Expr ofType(const Expr &value, DType type, const std::string &what, const char *part) {
  if (!value->weak && value.dtype() != type)
    throw Error(ErrorKind::TypeMismatch, what + ": expected " + part + " of type " +
                                             std::string(headrace::nameOf(type)) + ", got " +
                                             value.text() + " of type " +
                                             std::string(headrace::nameOf(value.dtype())));
  return cast(value, type);
}

Stage scan(std::vector<Expr> shape, DType dtype, const StepFunction &step,
           const PointFunction &initial, const std::string &name,
           std::vector<std::string> axisNames) {
  std::string what = "stage " + quoted(name, "without a name");
  if (shape.empty())
    throw Error(ErrorKind::InvalidArgument,
                what + ": expected a dimension for the steps, got no dimension");
  StageInfo info{name, shape, dtype, 0, axesOf(what, shape, axisNames), {}};
  StageInfo self{name.empty() ? "scan" : name, shape, dtype, nextSerial(), {}, {}};
  self.isSelf = true;
  Recurrence recurrence{std::make_shared<const StageInfo>(std::move(self)), {}};
  std::vector<Expr> point(info.axes.begin(), info.axes.end());
  recurrence.initial =
      ofType(initial({point.begin() + 1, point.end()}), dtype, what, "initial values");
  info.body = ofType(step(Stage(recurrence.self), point), dtype, what, "steps");
  info.recurrence = std::make_shared<const Recurrence>(std::move(recurrence));
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

static std::shared_ptr<const Reduction> checked(const Expr &value, Reduction reduction) {
  if (reduction.axes.empty())
    throw Error(ErrorKind::InvalidArgument,
                "reduction of " + value.text() + ": expected an axis to reduce along, got none");
  std::set<const AxisInfo *> seen;
  for (const Axis &axis : reduction.axes)
    if (!seen.insert(axis.get()).second)
      throw Error(ErrorKind::InvalidArgument, "reduction of " + value.text() + ": expected axis " +
                                                  quoted(axis->name, "without a name") +
                                                  " once, got it twice");
  return std::make_shared<const Reduction>(std::move(reduction));
}

static Expr reduceNode(const Expr &value, Reduction reduction) {
  Node node{Op::Reduce, value.dtype()};
  node.operands = {value};
  node.reduction = checked(value, std::move(reduction));
  return makeNode(std::move(node));
}

/// Positions and numbers are reduced in their own type; bools are counted.
static Expr settled(const Expr &value, bool counts) {
  return cast(value, counts && value.dtype() == DType::Bool ? DType::I64 : value.dtype());
}

Expr sum(const Expr &value, const std::vector<Axis> &axes) {
  return reduceNode(settled(value, true), {Reduction::Kind::Sum, axes});
}
Expr product(const Expr &value, const std::vector<Axis> &axes) {
  return reduceNode(settled(value, true), {Reduction::Kind::Product, axes});
}
Expr minimum(const Expr &value, const std::vector<Axis> &axes) {
  return reduceNode(settled(value, false), {Reduction::Kind::Min, axes});
}
Expr maximum(const Expr &value, const std::vector<Axis> &axes) {
  return reduceNode(settled(value, false), {Reduction::Kind::Max, axes});
}

static Expr argument(DType type, int64_t which) {
  Node leaf{Op::Argument, type};
  leaf.integer = which;
  return makeNode(std::move(leaf));
}

/// A user's reduction of values of these types, one or a tuple of several.
static Reduction customReduction(const TupleReducer &reducer, const std::vector<Expr> &values,
                                 const std::vector<Axis> &axes, const std::string &what) {
  Reduction reduction{Reduction::Kind::Custom, axes, reducer.identity};
  auto expectCount = [&](size_t count, const char *of) {
    if (count != values.size())
      throw Error(ErrorKind::InvalidArgument, what + ": expected " + of + " of " +
                                                  std::to_string(values.size()) + " values, got " +
                                                  std::to_string(count));
  };
  expectCount(reducer.identity.size(), "an identity");
  for (size_t i = 0; i < values.size(); ++i) {
    DType type = values[i].dtype();
    const Expr &identity = reducer.identity[i];
    if (identity.op() != Op::Number)
      throw Error(ErrorKind::InvalidArgument,
                  what + ": expected a number as identity, got " + identity.text());
    if (!isFloat(type) && isFloat(identity.dtype()))
      throw Error(ErrorKind::TypeMismatch, what + ": expected an identity of type " +
                                               std::string(headrace::nameOf(type)) + ", got " +
                                               identity.text());
    auto which = static_cast<int64_t>(2 * i);
    reduction.first.push_back(argument(type, which));
    reduction.second.push_back(argument(type, which + 1));
  }
  reduction.combined = reducer.combine(reduction.first, reduction.second);
  expectCount(reduction.combined.size(), "a function that returns a tuple");
  for (size_t i = 0; i < values.size(); ++i) {
    Expr &combined = reduction.combined[i];
    DType type = values[i].dtype();
    if (!combined->weak && combined.dtype() != type)
      throw Error(ErrorKind::TypeMismatch, what + ": expected a reduction of values of type " +
                                               std::string(headrace::nameOf(type)) +
                                               " into one, got " +
                                               std::string(headrace::nameOf(combined.dtype())));
    combined = cast(combined, type);
  }
  return reduction;
}

Expr reduce(const Reducer &reducer, const Expr &value, const std::vector<Axis> &axes) {
  Expr settledValue = settled(value, false);
  using Tuple = TupleReducer::Tuple;
  auto combine = [&](const Tuple &a, const Tuple &b) -> Tuple {
    return {reducer.combine(a.front(), b.front())};
  };
  return reduceNode(settledValue, customReduction({combine, {reducer.identity}}, {settledValue},
                                                  axes, "reduction of " + value.text()));
}

/// Sums in 16 bits soon stop growing.
static Expr widened(const Expr &value) {
  bool isHalf = value.dtype() == DType::F16 || value.dtype() == DType::BF16;
  return isHalf ? cast(value, DType::F32) : settled(value, false);
}

/// Float literals of a tuple take the type of its other floats.
static std::vector<Expr> withLiteralsConverted(std::vector<Expr> values) {
  auto isFloatLiteral = [](const Expr &value) { return value->weak && isFloat(value.dtype()); };
  for (const Expr &value : values)
    if (value.dtype() == DType::F64 && !value->weak)
      for (Expr &literal : values)
        if (isFloatLiteral(literal))
          literal = cast(literal, DType::F64);
  return values;
}

std::vector<Expr> reduce(const TupleReducer &reducer, const std::vector<Expr> &values,
                         const std::vector<Axis> &axes) {
  if (values.empty())
    throw Error(ErrorKind::InvalidArgument, "reduction: expected a tuple of values, got none");
  Node tuple{Op::Tuple, values.front().dtype()};
  for (const Expr &value : withLiteralsConverted(values))
    tuple.operands.push_back(widened(value));
  Expr all = makeNode(std::move(tuple));
  auto reduction =
      checked(all, customReduction(reducer, all.operands(), axes, "reduction of " + all.text()));
  std::vector<Expr> components;
  for (size_t i = 0; i < values.size(); ++i) {
    Node node{Op::Reduce, all.operands()[i].dtype()};
    node.operands = {all};
    node.integer = static_cast<int64_t>(i);
    node.reduction = reduction;
    components.push_back(cast(makeNode(std::move(node)), values[i].dtype()));
  }
  return components;
}

} // namespace headrace::expr
