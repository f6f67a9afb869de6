// Where the maxima of a pooling were, and values put back there.
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/windows/Windows.h"

using namespace mlir;

namespace headrace::onnx {

Value maximumPlaces(NodeContext &c, Value maximum, const Window &window, bool columnsFirst) {
  Value input = c.input(0);
  SymbolicShape from = c.shape(0), domain = shapeOf(maximum);
  auto rank = static_cast<unsigned>(domain.size());
  auto spatial = static_cast<unsigned>(window.rank());
  for (int64_t size : window.size)
    domain.push_back(c.dim(size));
  Compute compute{
      domain, spatial, hr::ReduceKind::Min, {{maximum, dimensions(c, 0, rank)}}, {input}};
  // The first of equal ones, in row-major order.
  Value places = writeCompute(c, compute, [&](PointMath &m) {
    SmallVector<Value> at{m.position(0), m.position(1)};
    Value isRead;
    for (unsigned i = 0; i < spatial; ++i) {
      Value start = m.mul(m.position(2 + i), m.integer(window.strides[i]));
      Value tap = m.mul(m.position(rank + i), m.integer(window.dilations[i]));
      Value low = window.open ? m.size(window.open->low[i]) : m.integer(window.pads[i]);
      at.push_back(m.sub(m.add(start, tap), low));
      Value here = m.isInside(at.back(), m.size(from[2 + i]));
      isRead = isRead ? m.both(isRead, here) : here;
    }
    Value element = m.element(0, at);
    isRead = m.both(isRead, m.either(m.equal(element, m.read(0)), m.isNaN(element)));
    Value place = m.integer(0);
    for (unsigned i = 0; i < rank; ++i)
      place = m.add(m.mul(place, m.size(from[i])), at[i]);
    return m.select(isRead, place, m.integer(std::numeric_limits<int64_t>::max()));
  });
  if (!columnsFirst)
    return places;
  return writeCompute(c, {shapeOf(maximum), 0, {}, {{places, dimensions(c, 0, rank)}}, {}},
                      [&](PointMath &m) {
                        SmallVector<Value> at; // from the last axis on
                        Value left = m.read(0);
                        for (unsigned i = rank; i-- > 2;) {
                          at.push_back(m.remainder(left, m.size(from[i])));
                          left = m.div(left, m.size(from[i]));
                        }
                        for (unsigned i = rank; i-- > 2;)
                          left = m.add(m.mul(left, m.size(from[i])), at[rank - 1 - i]);
                        return left;
                      });
}

/// Zeros, with the values where a pooling found them. A larger shape that is asked for has more
/// zeros at its ends.
static void importMaxUnpool(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  Value places = c.cast(c.input(1, Accepts::Integers), c.builder.getI64Type());
  size_t spatial = spatialRank(c);
  if (!c.node.find("kernel_shape"))
    c.fail(ErrorKind::InvalidModel, "attribute 'kernel_shape' is missing");
  SmallVector<int64_t> size = windowNumbers(c, "kernel_shape", spatial, 1, 1);
  SmallVector<int64_t> strides = windowNumbers(c, "strides", spatial, 1, 1);
  SmallVector<int64_t> pads = windowNumbers(c, "pads", 2 * spatial, 0, 0);
  SymbolicShape shape = c.shape(0);
  bool fits = c.rank(1) == c.rank(0);
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = sameSize(c.shape(1)[i], shape[i]);
  if (!fits)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(1), c.text(shape),
           c.text(c.shape(1)));
  AffineExpr one = c.dim(1), count = c.product(shape);
  for (size_t i = 0; i < spatial; ++i)
    shape[i + 2] = (shape[i + 2] - 1) * strides[i] + (size[i] - pads[i] - pads[spatial + i]);
  AffineExpr all = c.product(shape);
  places = c.checkedIndices(c.reshape(places, {count}), c.dim(0), all);
  Value flat = c.create<hr::ScatterOp>(c.checkedType({one, all, one}, c.type(0).getElementType()),
                                       c.reshape(input, {one, count, one}), places, Value(),
                                       hr::ReduceKindAttr());
  Value result = c.reshape(flat, shape);
  if (!c.has(2))
    return c.result(result);
  SymbolicShape wanted = c.sizes(2).elements;
  SmallVector<int64_t> low(shape.size(), 0), high(shape.size(), 0);
  for (size_t i = 0; i < shape.size(); ++i) {
    auto more = i < wanted.size() ? constantValue(normalized(wanted[i] - shape[i])) : std::nullopt;
    if (!more || *more < 0 || wanted.size() != shape.size())
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} or more, got {2}", c.nameOfInput(2),
             c.text(shape), c.text(wanted));
    high[i] = *more;
  }
  TypedAttr zero = cast<TypedAttr>(c.builder.getZeroAttr(c.type(0).getElementType()));
  c.result(c.infer<hr::PadOp>(result, low, high, zero));
}

OperatorFamily poolPlaceOperators() {
  static const Operator table[] = {{"MaxUnpool", 9, importMaxUnpool}};
  return table;
}

} // namespace headrace::onnx
