// MaxRoiPool: the largest elements of the bins of regions, which begin and end between elements.
//
// A bin is a rectangle: so the largest of its rows are found first, for all columns of the image.
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/images/Regions.h"
#include "frontend/onnx/import/ops/windows/Windows.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

/// The bins of all regions along an axis, as [region, bin]: the first element and the one after the
/// last.
struct Bins {
  Value begin, end;
  int64_t count;

  Read readBegin(AffineExpr region, AffineExpr bin) const { return {begin, {region, bin}}; }
  Read readEnd(AffineExpr region, AffineExpr bin) const { return {end, {region, bin}}; }
};

} // namespace

/// Halves are rounded away from 0.
static Value rounded(PointMath &m, Value x) {
  Type type = x.getType();
  Value size = m.abs(x), low = m.floor(size);
  Value isUp =
      m.compare(ScalarMath::Compare::GreaterOrEqual, m.sub(size, low), m.numberOf(type, 0.5));
  Value whole = m.select(isUp, m.add(low, m.numberOf(type, 1)), low);
  return m.select(m.less(x, m.numberOf(type, 0)), m.sub(m.numberOf(type, 0), whole), whole);
}

/// The regions are rows of a batch, the first column and row, the last column and row.
static Bins binsOf(NodeContext &c, Value rois, int axis, int64_t count) {
  AffineExpr regions = c.shape(1)[0], size = c.shape(0)[2 + axis];
  double scale = c.node.getFloat("spatial_scale", 1);
  auto bound = [&](bool isEnd) {
    SmallVector<AffineExpr> d = dimensions(c, 0, 2);
    std::vector<Read> reads{{rois, {d[0], c.dim(2 - axis)}}, {rois, {d[0], c.dim(4 - axis)}}};
    return writeCompute(c, {{regions, c.dim(count)}, 0, {}, reads, {}}, [&](PointMath &m) {
      Type type = m.read(0).getType();
      auto number = [&](double value) { return m.numberOf(type, value); };
      Value first = rounded(m, m.mul(m.read(0), number(scale)));
      Value last = rounded(m, m.mul(m.read(1), number(scale)));
      Value length = m.max(m.add(m.sub(last, first), number(1)), number(1));
      Value bin = m.div(length, number(static_cast<double>(count)));
      Value at = m.convert(m.position(1), type);
      at = isEnd ? m.op<math::CeilOp>(m.mul(m.add(at, number(1)), bin)) : m.floor(m.mul(at, bin));
      Value most = m.convert(m.size(size), type);
      return m.toInteger(m.min(m.max(m.add(at, first), number(0)), most));
    });
  };
  return {bound(false), bound(true), count};
}

/// The element if its position is inside of [begin, end), reads 0 and 1.
static Value insideOnly(PointMath &m, Value position, Value element) {
  Value lowest = m.numberOf(element.getType(), -std::numeric_limits<double>::infinity());
  Value isAfter = m.less(position, m.read(0)), isBefore = m.less(position, m.read(1));
  return m.select(isAfter, lowest, m.select(isBefore, element, lowest));
}

void importMaxRoiPool(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  c.checkRank(0, 4);
  c.checkRank(1, 2);
  if (!c.node.find("pooled_shape"))
    c.fail(ErrorKind::InvalidModel, "attribute 'pooled_shape' is missing");
  SmallVector<int64_t> pooled = windowNumbers(c, "pooled_shape", 2, 1, 1);
  SymbolicShape shape = c.shape(0);
  AffineExpr regions = c.shape(1)[0];
  if (constantValue(c.shape(1)[1]) != 5)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected 5 values per region, got {1}", c.nameOfInput(1),
           c.text(c.shape(1)));
  Value rois = c.cast(c.input(1, Accepts::Floats), innerType(elementTypeOf(input)));
  Value batches = c.reshape(part(c, rois, 1, c.dim(0), c.dim(1)), {regions});
  batches = c.checkedIndices(c.cast(batches, c.builder.getI64Type()), c.dim(0), shape[0]);
  Bins rows = binsOf(c, rois, 0, pooled[0]), columns = binsOf(c, rois, 1, pooled[1]);

  SmallVector<AffineExpr> d = dimensions(c, 0, 5);
  AffineExpr height = c.dim(pooled[0]), width = c.dim(pooled[1]);
  Compute ofRows{{regions, shape[1], height, shape[3], shape[2]},
                 1,
                 hr::ReduceKind::Max,
                 {rows.readBegin(d[0], d[2]), rows.readEnd(d[0], d[2]), {batches, {d[0]}}},
                 {input}};
  Value largest = writeCompute(c, ofRows, [&](PointMath &m) {
    return insideOnly(m, m.position(4),
                      m.element(0, {m.read(2), m.position(1), m.position(4), m.position(3)}));
  });
  Compute ofColumns{{regions, shape[1], height, width, shape[3]},
                    1,
                    hr::ReduceKind::Max,
                    {columns.readBegin(d[0], d[3]),
                     columns.readEnd(d[0], d[3]),
                     {largest, {d[0], d[1], d[2], d[4]}}},
                    {}};
  largest = writeCompute(c, ofColumns,
                         [&](PointMath &m) { return insideOnly(m, m.position(4), m.read(2)); });
  // Bins outside of the image are 0.
  Compute ofBins{{regions, shape[1], height, width},
                 0,
                 {},
                 {rows.readBegin(d[0], d[2]),
                  rows.readEnd(d[0], d[2]),
                  columns.readBegin(d[0], d[3]),
                  columns.readEnd(d[0], d[3]),
                  {largest, {d[0], d[1], d[2], d[3]}}},
                 {}};
  c.result(writeCompute(c, ofBins, [&](PointMath &m) {
    Value isAny = m.both(m.less(m.read(0), m.read(1)), m.less(m.read(2), m.read(3)));
    return m.select(isAny, m.read(4), m.numberOf(m.read(4).getType(), 0));
  }));
}

} // namespace headrace::onnx
