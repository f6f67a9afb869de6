// Elements picked and placed by the indices that another tensor holds.
#include "frontend/onnx/import/ops/movement/Elements.h"

#include "frontend/common/Compute.h"
#include "frontend/onnx/import/Operators.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

static Value indicesOf(NodeContext &c, size_t i) {
  Type type = c.type(i).getElementType();
  if (!type.isSignlessInteger(32) && !type.isSignlessInteger(64))
    c.fail(ErrorKind::TypeMismatch, "{0}: expected i32 or i64, got {1}", c.nameOfInput(i),
           typeText(type));
  return c.cast(c.input(i), c.builder.getI64Type());
}

Value gatherElements(OperatorBuilder &b, Value data, Value indices, int64_t axis) {
  SymbolicShape shape = shapeOf(indices), from = shapeOf(data);
  auto rank = static_cast<unsigned>(shape.size());
  Compute compute{shape, 0, {}, {{indices, dimensions(b, 0, rank)}}, {data}};
  return writeCompute(b, compute, [&](PointMath &m) {
    SmallVector<Value> place;
    for (unsigned i = 0; i < rank; ++i)
      place.push_back(static_cast<int64_t>(i) == axis ? m.fromEnd(m.read(0), from[i])
                                                      : m.position(i));
    return m.element(0, place);
  });
}

/// Indices have the data's rank, and are no larger along the other axes.
static int64_t checkAlongAxis(NodeContext &c, size_t indices) {
  c.checkRank(indices, c.rank(0));
  int64_t axis = c.axis(c.node.getInt("axis", 0), c.rank(0));
  for (int64_t i = 0; i < c.rank(0); ++i)
    if (i != axis) {
      AffineExpr room = c.shape(0)[i] - c.shape(indices)[i];
      if (constantValue(normalized(room)).value_or(0) < 0)
        c.fail(ErrorKind::ShapeMismatch, "{0}: expected at most {1} along axis {2}, got {3}",
               c.nameOfInput(indices), c.text({c.shape(0)[i]}), i, c.text(c.shape(indices)));
    }
  return axis;
}

static void importGatherElements(NodeContext &c) {
  Value data = c.input(0), indices = indicesOf(c, 1);
  int64_t axis = checkAlongAxis(c, 1);
  AffineExpr size = c.shape(0)[axis];
  c.result(gatherElements(c, data, c.checkedIndices(indices, -size, size), axis));
}

/// The last dimension of the indices taken apart: a checked tensor for each of the data's
/// dimensions from `first` on that they address.
static SmallVector<Value> components(NodeContext &c, int64_t first) {
  Value indices = indicesOf(c, 1);
  SymbolicShape shape = c.shape(1), data = c.shape(0);
  auto depth = shape.empty() ? std::nullopt : constantValue(shape.back());
  if (!depth || *depth < 1 || first + *depth > c.rank(0))
    c.fail(ErrorKind::ShapeMismatch,
           "{0}: expected a last dimension from 1 to {1}, the data's rank less batch_dims, got {2}",
           c.nameOfInput(1), c.rank(0) - first, c.text(shape));
  SmallVector<Value> parts;
  SymbolicShape part = shape, kept(ArrayRef(shape).drop_back());
  part.back() = c.dim(1);
  for (int64_t i = 0; i < *depth; ++i) {
    SymbolicShape starts(shape.size(), c.dim(0));
    starts.back() = c.dim(i);
    Value each = c.slice(indices, starts, part, SmallVector<int64_t>(shape.size(), 1));
    AffineExpr size = data[first + i];
    parts.push_back(c.checkedIndices(c.reshape(each, kept), -size, size));
  }
  return parts;
}

static void importGatherND(NodeContext &c) {
  Value data = c.input(0);
  int64_t batch = c.node.getInt("batch_dims", 0);
  if (batch < 0 || batch >= std::min(c.rank(0), c.rank(1)))
    c.fail(ErrorKind::InvalidModel, "attribute 'batch_dims': expected 0 to {0}, got {1}",
           std::min(c.rank(0), c.rank(1)) - 1, batch);
  SmallVector<Value> parts = components(c, batch);
  SymbolicShape from = c.shape(0), domain(ArrayRef<AffineExpr>(c.shape(1)).drop_back());
  auto points = static_cast<unsigned>(domain.size());
  for (int64_t i = 0; i < batch; ++i)
    if (!sameSize(from[i], domain[i]))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} along batch dimension {2}, got {3}",
             c.nameOfInput(1), c.text({from[i]}), i, c.text(c.shape(1)));
  domain.append(from.begin() + batch + parts.size(), from.end());
  Compute compute{domain, 0, {}, {}, {data}};
  for (Value part : parts)
    compute.reads.push_back({part, dimensions(c, 0, points)});
  c.result(writeCompute(c, compute, [&](PointMath &m) {
    SmallVector<Value> place;
    for (int64_t i = 0; i < batch; ++i)
      place.push_back(m.position(i));
    for (size_t i = 0; i < parts.size(); ++i)
      place.push_back(m.fromEnd(m.read(i), from[batch + i]));
    for (unsigned i = points; i < domain.size(); ++i)
      place.push_back(m.position(i));
    return m.element(0, place);
  }));
}

//===--------------------------------------------------------------------------===//
// Scatter
//===--------------------------------------------------------------------------===//

static hr::ReduceKindAttr reductionOf(NodeContext &c) {
  std::string text = c.node.getString("reduction", "none");
  if (text == "none")
    return {};
  auto kind = llvm::StringSwitch<std::optional<hr::ReduceKind>>(text)
                  .Case("add", hr::ReduceKind::Sum)
                  .Case("mul", hr::ReduceKind::Prod)
                  .Case("max", hr::ReduceKind::Max)
                  .Case("min", hr::ReduceKind::Min)
                  .Default(std::nullopt);
  if (!kind)
    c.fail(ErrorKind::InvalidModel,
           "attribute 'reduction': expected none, add, mul, max or min, got {0}", inQuotes(text));
  Type type = c.type(0).getElementType();
  if (type.isInteger(1) || isSmallFloat(type) || isSmallInteger(type))
    c.fail(ErrorKind::TypeMismatch, "{0}: expected numeric values to reduce, got {1}",
           c.nameOfInput(0), typeText(type));
  return hr::ReduceKindAttr::get(c.context, *kind);
}

/// Rows of `inner` elements put into the data, seen as such rows.
static void scatterRows(NodeContext &c, Value places, AffineExpr inner) {
  Value data = c.input(0), updates = c.input(2);
  c.checkSameType(0, 2);
  hr::ReduceKindAttr kind = reductionOf(c);
  AffineExpr one = c.dim(1), count = c.product(shapeOf(places));
  auto rows = exactQuotient(c.product(c.shape(0)), inner);
  if (!rows)
    c.fail(ErrorKind::Unsupported, "{0}: expected rows of {1} elements, got {2}", c.nameOfInput(0),
           c.text({inner}), c.text(c.shape(0)));
  Value target = c.reshape(data, {one, *rows, inner});
  Value result = c.create<hr::ScatterOp>(target.getType(), c.reshape(updates, {one, count, inner}),
                                         c.reshape(places, {count}), target, kind);
  c.result(c.reshape(result, c.shape(0)));
}

static void importScatterElements(NodeContext &c) {
  Value indices = indicesOf(c, 1);
  int64_t axis = checkAlongAxis(c, 1);
  SymbolicShape shape = c.shape(1), data = c.shape(0);
  c.checkRank(2, c.rank(0));
  for (auto [updated, size] : llvm::zip(c.shape(2), shape))
    if (!sameSize(updated, size))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected the indices' shape {1}, got {2}",
             c.nameOfInput(2), c.text(shape), c.text(c.shape(2)));
  indices = c.checkedIndices(indices, -data[axis], data[axis]);
  Compute compute{shape, 0, {}, {{indices, dimensions(c, 0, shape.size())}}, {}};
  Value places = writeCompute(c, compute, [&](PointMath &m) {
    Value place = m.integer(0);
    for (size_t i = 0; i < shape.size(); ++i) {
      Value at = static_cast<int64_t>(i) == axis ? m.fromEnd(m.read(0), data[i]) : m.position(i);
      place = m.add(m.mul(place, m.size(data[i])), at);
    }
    return place;
  });
  scatterRows(c, places, c.dim(1));
}

static void importScatterND(NodeContext &c) {
  SmallVector<Value> parts = components(c, 0);
  SymbolicShape points(ArrayRef<AffineExpr>(c.shape(1)).drop_back()), data = c.shape(0);
  SymbolicShape expected = points;
  expected.append(data.begin() + parts.size(), data.end());
  bool fits = c.shape(2).size() == expected.size();
  for (size_t i = 0; fits && i < expected.size(); ++i)
    fits = sameSize(c.shape(2)[i], expected[i]);
  if (!fits)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(2),
           c.text(expected), c.text(c.shape(2)));
  Compute compute{points, 0, {}, {}, {}};
  for (Value part : parts)
    compute.reads.push_back({part, dimensions(c, 0, points.size())});
  Value places = writeCompute(c, compute, [&](PointMath &m) {
    Value place = m.integer(0);
    for (size_t i = 0; i < parts.size(); ++i)
      place = m.add(m.mul(place, m.size(data[i])), m.fromEnd(m.read(i), data[i]));
    return place;
  });
  scatterRows(c, places, c.product(ArrayRef<AffineExpr>(data).drop_front(parts.size())));
}

/// A cache with the update written into it along an axis, from a place of each batch on; `circular`
/// goes on from the start.
static void importTensorScatter(NodeContext &c) {
  Value cache = c.input(0), update = c.input(1);
  c.checkSameType(0, 1);
  c.checkRank(1, c.rank(0));
  int64_t axis = c.axis(c.node.getInt("axis", -2), c.rank(0));
  std::string mode = c.node.getString("mode", "linear");
  if (axis == 0 || (mode != "linear" && mode != "circular"))
    c.fail(ErrorKind::InvalidModel,
           "expected an axis other than 0 and the mode linear or circular, got {0} and {1}", axis,
           inQuotes(mode));
  SymbolicShape shape = c.shape(0);
  auto rank = static_cast<unsigned>(shape.size());
  AffineExpr length = shape[axis], written = c.shape(1)[axis];
  Compute compute{shape, 0, {}, {{cache, dimensions(c, 0, rank)}}, {update}};
  if (c.has(2)) {
    c.checkRank(2, 1);
    // Elements that are written end inside the cache, or wrap around.
    AffineExpr high = mode == "linear" ? length - written + 1 : length;
    Value starts = c.checkedIndices(indicesOf(c, 2), c.dim(0), high);
    compute.reads.push_back({starts, dimensions(c, 0, 1)});
  }
  c.result(writeCompute(c, compute, [&](PointMath &m) {
    Value offset = m.position(axis);
    if (c.has(2))
      offset = m.sub(offset, m.read(1));
    if (mode == "circular")
      offset = m.fromEnd(offset, length);
    SmallVector<Value> place;
    for (unsigned i = 0; i < rank; ++i)
      place.push_back(static_cast<int64_t>(i) == axis ? offset : m.position(i));
    Value isWritten = m.isInside(offset, m.size(written));
    return m.select(isWritten, m.element(0, place), m.read(0));
  }));
}

//===--------------------------------------------------------------------------===//
// OneHot, ReverseSequence
//===--------------------------------------------------------------------------===//

/// An index outside [-depth, depth) is hot nowhere.
static void importOneHot(NodeContext &c) {
  Value indices = c.cast(c.input(0, Accepts::Numbers), c.builder.getI64Type());
  Value values = c.input(2);
  c.checkRank(2, 1);
  if (constantValue(c.shape(2)[0]).value_or(2) != 2)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected two values, off and on, got {1}",
           c.nameOfInput(2), c.text(c.shape(2)));
  c.requireNonNegative(c.shape(2)[0] - 2, "values less off and on");
  c.requireNonNegative(c.dim(2) - c.shape(2)[0], "off and on less the values");
  AffineExpr depth = c.size(1);
  int64_t axis = c.axis(c.node.getInt("axis", -1), c.rank(0) + 1);
  SymbolicShape domain = c.shape(0);
  domain.insert(domain.begin() + axis, depth);
  SmallVector<AffineExpr> at = dimensions(c, 0, domain.size());
  at.erase(at.begin() + axis);
  Compute compute{domain, 0, {}, {{indices, at}, {values, {c.dim(0)}}, {values, {c.dim(1)}}}, {}};
  c.result(writeCompute(c, compute, [&](PointMath &m) {
    Value isHere = m.equal(m.fromEnd(m.read(0), depth), m.position(axis));
    return m.select(isHere, m.read(2), m.read(1));
  }));
}

static void importReverseSequence(NodeContext &c) {
  Value input = c.input(0);
  int64_t batch = c.axis(c.node.getInt("batch_axis", 1), c.rank(0));
  int64_t time = c.axis(c.node.getInt("time_axis", 0), c.rank(0));
  c.checkRank(1, 1);
  SymbolicShape shape = c.shape(0);
  if (batch == time || !sameSize(c.shape(1)[0], shape[batch]))
    c.fail(ErrorKind::ShapeMismatch,
           "{0}: expected {1} lengths, of another axis than time, got {2}", c.nameOfInput(1),
           c.text({shape[batch]}), c.text(c.shape(1)));
  Value lengths = c.checkedIndices(indicesOf(c, 1), c.dim(0), shape[time] + 1);
  Compute compute{shape, 0, {}, {{lengths, {getAffineDimExpr(batch, c.context)}}}, {input}};
  c.result(writeCompute(c, compute, [&](PointMath &m) {
    SmallVector<Value> place;
    for (size_t i = 0; i < shape.size(); ++i)
      place.push_back(m.position(i));
    Value mirrored = m.sub(m.sub(m.read(0), m.integer(1)), place[time]);
    place[time] = m.select(m.isNegative(mirrored), place[time], mirrored);
    return m.element(0, place);
  }));
}

OperatorFamily elementOperators() {
  static const Operator table[] = {
      {"GatherElements", 11, importGatherElements},
      {"GatherND", 11, importGatherND},
      {"Scatter", 9, importScatterElements},
      {"ScatterElements", 11, importScatterElements},
      {"ScatterND", 11, importScatterND},
      {"TensorScatter", 24, importTensorScatter},
      {"OneHot", 9, importOneHot},
      {"ReverseSequence", 10, importReverseSequence},
  };
  return table;
}

} // namespace headrace::onnx
