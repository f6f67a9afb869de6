// Parts of tensors, and tensors put together from parts.
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/movement/Padding.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

/// The slice along one axis.
struct AxisPart {
  AffineExpr start, size;
  int64_t step = 1;
};

static Value takePart(NodeContext &c, Value input, ArrayRef<AxisPart> parts) {
  SymbolicShape starts, sizes;
  SmallVector<int64_t> steps;
  for (const AxisPart &part : parts) {
    starts.push_back(part.start);
    sizes.push_back(part.size);
    steps.push_back(part.step);
  }
  return c.slice(input, starts, sizes, steps);
}

static SmallVector<AxisPart> wholeTensor(NodeContext &c, ArrayRef<AffineExpr> shape) {
  SmallVector<AxisPart> parts;
  for (AffineExpr dim : shape)
    parts.push_back({c.dim(0), dim});
  return parts;
}

//===--------------------------------------------------------------------------===//
// Slice
//===--------------------------------------------------------------------------===//

// Positions beyond this mean "to the end": no tensor is that long.
static constexpr int64_t kFar = int64_t(1) << 31;

static bool isFar(int64_t distance) { return distance < -kFar || distance > kFar; }

// Exporters write numbers from here on for the same, 10^9 and 2^31 - 1 among them. An axis may be
// longer, so they hold for dynamic dimensions up to that number.
static constexpr int64_t kProbablyFar = 1'000'000'000;

/// A position along an axis of size `dim`, counted from the end when negative, moved into
/// [low, high]. If dynamic dimensions do not tell on which side it lies, they are restricted.
static AffineExpr position(NodeContext &c, AffineExpr at, AffineExpr dim, AffineExpr low,
                           AffineExpr high) {
  auto number = constantValue(at), size = constantValue(dim);
  if (number && size) {
    int64_t counted = *number < 0 && *number > -kFar ? *number + *size : *number;
    // Backwards over an empty axis `high` is below `low`, and holds.
    return c.dim(std::min(std::max(counted, *constantValue(low)), *constantValue(high)));
  }
  if (number && *number >= kFar)
    return high;
  if (number && *number <= -kFar)
    return low;
  if (number && *number >= kProbablyFar && !c.isNegative(at - high)) {
    c.requireNonNegative(at - high, "a slice's end less the dynamic dimension");
    return high;
  }
  bool isFromEnd = !c.decideNonNegative(at, "a slice's position");
  if (isFromEnd)
    at = dim + at;
  if (sameSize(at, high) ||
      !c.decideNonNegative(high - at, "dynamic dimension less a slice's position"))
    return high;
  if (isFromEnd && !c.decideNonNegative(at - low, "a slice's position from the end"))
    return low;
  return at;
}

static AxisPart slicedAxis(NodeContext &c, AffineExpr dim, AffineExpr start, AffineExpr end,
                           int64_t step) {
  if (step == 0 || isFar(step))
    c.fail(ErrorKind::InvalidModel, "expected a step other than 0 below 2^31, got {0}", step);
  AffineExpr zero = c.dim(0);
  AffineExpr low = step > 0 ? zero : c.dim(-1), high = step > 0 ? dim : dim - 1;
  AxisPart part;
  part.step = step;
  part.start = position(c, start, dim, zero, high);
  // Backwards there is no first element on an empty axis.
  if (!c.decideNonNegative(high - part.start, "a slice's first element"))
    return {zero, zero};
  AffineExpr stop = position(c, end, dim, low, high);
  AffineExpr distance = step > 0 ? stop - part.start : part.start - stop;
  if (!c.decideNonNegative(distance, "a slice's length"))
    return {zero, zero};
  part.size = distance.ceilDiv(std::abs(step));
  if (auto size = constantValue(part.size); size && *size <= 0)
    part = {zero, zero};
  return part;
}

static SymbolicShape sliceBounds(NodeContext &c, const char *attribute, size_t input) {
  if (c.has(input))
    return c.sizes(input).elements;
  SymbolicShape bounds;
  for (int64_t bound : c.node.getInts(attribute))
    bounds.push_back(c.dim(bound));
  return bounds;
}

/// Everything but the data was an attribute before version 10.
static void importSlice(NodeContext &c) {
  Value input = c.input(0);
  SymbolicShape shape = c.shape(0);
  SymbolicShape starts = sliceBounds(c, "starts", 1), ends = sliceBounds(c, "ends", 2);
  auto list = c.integersOf("axes", 3);
  SmallVector<int64_t> axes =
      list ? c.axes(*list, shape.size()) : llvm::to_vector(llvm::seq<int64_t>(0, starts.size()));
  std::vector<int64_t> steps(axes.size(), 1);
  if (c.has(4))
    steps = c.integers(4);
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size() ||
      axes.size() > shape.size())
    c.fail(ErrorKind::InvalidModel,
           "expected as many starts, ends, axes and steps, got {0}, {1}, {2} and {3}",
           starts.size(), ends.size(), axes.size(), steps.size());
  SmallVector<AxisPart> parts = wholeTensor(c, shape);
  for (auto [axis, start, end, step] : llvm::zip(axes, starts, ends, steps))
    parts[axis] = slicedAxis(c, shape[axis], start, end, step);
  c.result(takePart(c, input, parts));
}

//===--------------------------------------------------------------------------===//
// Split, Concat, Pad, Gather
//===--------------------------------------------------------------------------===//

/// The sizes as given, or equal ones; with `num_outputs` the last may be smaller.
static SymbolicShape splitSizes(NodeContext &c, AffineExpr dim) {
  SymbolicShape sizes;
  if (c.has(1) || c.node.find("split")) {
    sizes = sliceBounds(c, "split", 1);
    c.checkedType(sizes, c.type(0).getElementType());
    AffineExpr total = c.dim(0);
    for (AffineExpr size : sizes)
      total = total + size;
    if (!sameSize(total, dim) || sizes.size() != c.node.outputs.size())
      c.fail(ErrorKind::ShapeMismatch, "cannot split a size of {0} into {1} parts of {2}",
             c.text({dim}), c.node.outputs.size(), c.text(sizes));
    return sizes;
  }
  int64_t count = c.node.outputs.size(), stated = c.node.getInt("num_outputs", count);
  if (stated != count || count == 0)
    c.fail(ErrorKind::InvalidModel, "expected {0} outputs, got {1}", stated, count);
  if (auto equal = exactQuotient(dim, c.dim(count)))
    return SymbolicShape(count, *equal);
  auto size = constantValue(dim);
  if (!size || c.opset < 18)
    c.fail(ErrorKind::ShapeMismatch, "cannot split a size of {0} into {1} equal parts",
           c.text({dim}), count);
  int64_t chunk = llvm::divideCeil(*size, count), left = *size;
  for (int64_t i = 0; i < count; ++i, left -= std::min(chunk, left))
    sizes.push_back(c.dim(std::min(chunk, left)));
  return sizes;
}

static void importSplit(NodeContext &c) {
  Value input = c.input(0);
  SymbolicShape shape = c.shape(0);
  int64_t axis = c.axis(c.node.getInt("axis", 0), shape.size());
  AffineExpr start = c.dim(0);
  for (auto [i, size] : llvm::enumerate(splitSizes(c, shape[axis]))) {
    SmallVector<AxisPart> parts = wholeTensor(c, shape);
    parts[axis] = {start, size};
    c.result(takePart(c, input, parts), i);
    start = start + size;
  }
}

static void importConcat(NodeContext &c) {
  SmallVector<Value> inputs = c.inputsOfOneType(Accepts::Any);
  if (!c.node.find("axis") && c.opset >= 4)
    c.fail(ErrorKind::InvalidModel, "attribute 'axis' is missing");
  int64_t axis = c.axis(c.node.getInt("axis", 1), c.rank(0));
  c.result(inputs.size() == 1 ? inputs[0] : c.infer<hr::ConcatOp>(inputs, axis));
}

/// The value to pad with: an attribute before version 11, then an optional constant.
static TypedAttr padValue(NodeContext &c) {
  Type type = c.type(0).getElementType();
  double value = c.node.getFloat("value", 0);
  if (c.has(2)) {
    const Tensor &constant = c.constant(2);
    c.checkSameType(0, 2);
    if (!constant || constant.elements() != 1)
      c.fail(ErrorKind::Unsupported, "{0}: expected one constant to pad with", c.nameOfInput(2));
    if (isa<IntegerType>(type)) {
      Tensor wide = constant.converted(DType::I64);
      return c.builder.getIntegerAttr(type, *wide.as<int64_t>());
    }
    Tensor wide = constant.converted(DType::F64);
    value = *wide.as<double>();
  }
  if (isa<IntegerType>(type)) {
    if (!(std::abs(value) <= kFar))
      c.fail(ErrorKind::InvalidModel, "attribute 'value': expected an integer below 2^31, got {0}",
             value);
    return c.builder.getIntegerAttr(type, static_cast<int64_t>(value));
  }
  return c.builder.getFloatAttr(type, value);
}

static void importPad(NodeContext &c) {
  Value input = c.input(0);
  std::string mode = c.node.getString("mode", "constant");
  constexpr StringRef kModes[] = {"constant", "reflect", "edge", "wrap"};
  if (!llvm::is_contained(kModes, mode))
    c.fail(ErrorKind::InvalidModel,
           "attribute 'mode': expected constant, reflect, edge or wrap, got {0}", inQuotes(mode));
  SymbolicShape shape = c.shape(0);
  int64_t rank = shape.size();
  const char *attribute = c.opset < 2 ? "paddings" : "pads";
  auto pads = c.integersOf(attribute, 1).value_or(std::vector<int64_t>());
  SmallVector<int64_t> axes =
      c.has(3) ? c.axes(c.integers(3), rank) : llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (pads.size() != 2 * axes.size())
    c.fail(ErrorKind::InvalidModel, "expected {0} pads, got {1}", 2 * axes.size(), pads.size());
  // A negative pad cuts off.
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  SmallVector<AxisPart> parts = wholeTensor(c, shape);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t before = pads[i], after = pads[axes.size() + i];
    if (isFar(before) || isFar(after))
      c.fail(ErrorKind::InvalidModel, "expected pads below 2^31, got {0} and {1}", before, after);
    int64_t cutBefore = std::max<int64_t>(-before, 0), cutAfter = std::max<int64_t>(-after, 0);
    parts[axis] = {c.dim(cutBefore), shape[axis] - (cutBefore + cutAfter)};
    if (cutBefore + cutAfter > 0)
      c.requireNonNegative(parts[axis].size, "size less negative pads");
    low[axis] = std::max<int64_t>(before, 0);
    high[axis] = std::max<int64_t>(after, 0);
  }
  Value cut = takePart(c, input, parts);
  auto isZero = [](int64_t pad) { return pad == 0; };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
    return c.result(cut);
  if (mode != "constant")
    return c.result(padByReading(c, cut, low, high, mode, {}));
  if (!c.has(2) || c.constant(2))
    return c.result(c.infer<hr::PadOp>(cut, low, high, padValue(c)));
  c.checkSameType(0, 2);
  c.result(padByReading(c, cut, low, high, mode, c.input(2)));
}

/// One known index takes a slice; anything else is looked up.
static void importGather(NodeContext &c) {
  Value data = c.input(0);
  SymbolicShape shape = c.shape(0);
  int64_t axis = c.axis(c.node.getInt("axis", 0), shape.size());
  Type indexType = c.type(1).getElementType();
  if (!indexType.isInteger(32) && !indexType.isInteger(64))
    c.fail(ErrorKind::TypeMismatch, "{0}: expected i32 or i64, got {1}", c.nameOfInput(1),
           typeText(indexType));
  const SymbolicValue *known = c.known(1);
  auto numbers = known ? known->constants() : std::nullopt;
  auto size = constantValue(shape[axis]);
  for (int64_t index : numbers.value_or(std::vector<int64_t>()))
    if (index <= -kFar || index >= kFar || (size && (index < -*size || index >= *size)))
      c.fail(ErrorKind::InvalidModel, "{0}: index {1} is outside a size of {2}", c.nameOfInput(1),
             index, c.text({shape[axis]}));
  if (!numbers || c.rank(1) != 0) {
    AffineExpr dim = shape[axis];
    // Clamping needs an element. Sizes 0 and 1 of a symbol are compiled for themselves and know.
    if (!size && c.isNegative(dim - 1))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected elements to look up, got a size of {1}",
             c.nameOfInput(0), c.text({dim}));
    if (!size && !isa<AffineSymbolExpr>(dim))
      c.tryRequireNonNegative(dim - 1);
    return c.result(c.infer<hr::GatherOp>(data, c.checkedIndices(c.input(1), -dim, dim), axis));
  }
  int64_t index = numbers->front();
  AffineExpr start = index < 0 ? shape[axis] + index : c.dim(index);
  if (!size)
    c.requireNonNegative(index < 0 ? start : shape[axis] - (index + 1), "size less an index");
  SmallVector<AxisPart> parts = wholeTensor(c, shape);
  parts[axis] = {start, c.dim(1)};
  Value slice = takePart(c, data, parts);
  SymbolicShape rest = shape;
  rest.erase(rest.begin() + axis);
  c.result(c.reshape(slice, rest));
}

OperatorFamily indexingOperators() {
  static const Operator table[] = {
      {"Slice", 7, importSlice, shapes::slice},    {"Split", 7, importSplit},
      {"Concat", 7, importConcat, shapes::concat}, {"Pad", 7, importPad},
      {"Gather", 7, importGather, shapes::gather},
  };
  return table;
}

} // namespace headrace::onnx
