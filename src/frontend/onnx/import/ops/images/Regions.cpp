// Regions and patches of images, read at places between their elements that data gives.
#include "frontend/common/Compute.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/windows/Windows.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

/// Half precision is computed in single.
static Type computedType(NodeContext &c, Type type) {
  return type.isF64() ? type : c.builder.getF32Type();
}

//===--------------------------------------------------------------------------===//
// RoiAlign
//===--------------------------------------------------------------------------===//

namespace {

/// The four neighbours of a place in an image, with their weights.
struct Neighbours {
  Value low[2], high[2]; // rows, columns
  Value lowWeight[2], highWeight[2];

  /// Element (row, column), for the bits of `corner`.
  std::pair<SmallVector<Value>, Value> corner(ScalarMath &m, int corner) const {
    bool row = (corner & 2) != 0, column = (corner & 1) != 0;
    return {{row ? high[0] : low[0], column ? high[1] : low[1]},
            m.mul(row ? highWeight[0] : lowWeight[0], column ? highWeight[1] : lowWeight[1])};
  }
};

} // namespace

/// Places are brought to the image's edges; the last element has no neighbour after it.
static void addNeighbours(PointMath &m, Neighbours &found, int axis, Value place, AffineExpr size) {
  Type type = place.getType();
  Value one = m.numberOf(type, 1), last = m.sub(m.size(size), m.integer(1));
  Value at = m.max(place, m.numberOf(type, 0)), low = m.toInteger(m.floor(at));
  Value isLast = m.compare(ScalarMath::Compare::GreaterOrEqual, low, last);
  found.low[axis] = m.select(isLast, last, low);
  found.high[axis] = m.select(isLast, last, m.add(low, m.integer(1)));
  Value rest = m.select(isLast, m.numberOf(type, 0), m.sub(at, m.convert(low, type)));
  found.highWeight[axis] = rest;
  found.lowWeight[axis] = m.sub(one, rest);
}

namespace {

class RoiAlignment {
public:
  RoiAlignment(NodeContext &c)
      : c(c), type(computedType(c, c.type(0).getElementType())), shape(c.shape(0)),
        rois(c.cast(c.input(1, Accepts::Floats), type)),
        spatialScale(c.node.getFloat("spatial_scale", 1)),
        isHalfPixel(c.opset >= 16 && c.node.getString("coordinate_transformation_mode",
                                                      "half_pixel") == "half_pixel"),
        pooled{c.node.getInt("output_height", 1), c.node.getInt("output_width", 1)} {}

  Value run(Value input, Value batches, bool isMaximum, int64_t ratio) {
    SymbolicShape domain{c.shape(1)[0], shape[1], c.dim(pooled[0]), c.dim(pooled[1])};
    AffineExpr roi = getAffineDimExpr(0, c.context);
    std::vector<Read> reads = corners(roi);
    reads.push_back({batches, {roi}});
    for (int axis : {0, 1}) {
      domain.push_back(ratio > 0 ? c.dim(ratio) : mostSamples(axis));
      reads.push_back({samples(axis, ratio), {roi}});
    }
    hr::ReduceKind kind = isMaximum ? hr::ReduceKind::Max : hr::ReduceKind::Sum;
    return writeCompute(c, {domain, 2, kind, reads, {input}},
                        [&](PointMath &m) { return sample(m, isMaximum); });
  }

private:
  Value number(PointMath &m, double value) { return m.numberOf(type, value); }

  std::vector<Read> corners(AffineExpr roi) {
    std::vector<Read> reads;
    for (int64_t i : {1, 0, 3, 2}) // begin of rows and columns, then their ends
      reads.push_back({rois, {roi, c.dim(i)}});
    return reads;
  }

  Value begin(PointMath &m, int axis) {
    Value at = m.mul(m.read(axis), number(m, spatialScale));
    return isHalfPixel ? m.sub(at, number(m, 0.5)) : at;
  }
  Value extent(PointMath &m, int axis) {
    Value size = m.mul(m.sub(m.read(2 + axis), m.read(axis)), number(m, spatialScale));
    return isHalfPixel ? size : m.max(size, number(m, 1));
  }

  /// As many as a region of the whole image needs.
  AffineExpr mostSamples(int axis) { return shape[2 + axis].ceilDiv(pooled[axis]) + 1; }

  /// How many places are read along an axis of each bin: given, or one for each element there.
  Value samples(int axis, int64_t ratio) {
    AffineExpr roi = getAffineDimExpr(0, c.context);
    Value counts = writeCompute(c, {{c.shape(1)[0]}, 0, {}, corners(roi), {}}, [&](PointMath &m) {
      if (ratio > 0)
        return m.integer(ratio);
      Value each = m.div(extent(m, axis), number(m, static_cast<double>(pooled[axis])));
      return m.toInteger(m.op<math::CeilOp>(each));
    });
    return ratio > 0 ? counts : c.checkedIndices(counts, c.dim(-1), mostSamples(axis) + 1);
  }

  Value sample(PointMath &m, bool isMaximum) {
    Neighbours found;
    Value counts, isRead, isOutside;
    for (int axis : {0, 1}) {
      Value count = m.read(5 + axis), step = m.position(4 + axis);
      Value here = m.less(step, count);
      isRead = isRead ? m.both(isRead, here) : here;
      Value bin = m.div(extent(m, axis), number(m, static_cast<double>(pooled[axis])));
      Value real = m.convert(count, type);
      Value inBin = m.div(m.mul(m.add(m.convert(step, type), number(m, 0.5)), bin), real);
      Value place =
          m.add(m.add(begin(m, axis), m.mul(m.convert(m.position(2 + axis), type), bin)), inBin);
      Value length = m.convert(m.size(shape[2 + axis]), type);
      Value outside = m.either(m.less(place, number(m, -1)), m.less(length, place));
      isOutside = isOutside ? m.either(isOutside, outside) : outside;
      addNeighbours(m, found, axis, place, shape[2 + axis]);
      counts = counts ? m.mul(counts, count) : count;
    }
    Value result;
    for (int corner = 0; corner < 4; ++corner) {
      auto [place, weight] = found.corner(m, corner);
      SmallVector<Value> index{m.read(4), m.position(1), place[0], place[1]};
      Value part = m.mul(weight, m.convert(m.element(0, index), type));
      result = !result ? part : isMaximum ? m.max(result, part) : m.add(result, part);
    }
    result = m.select(isOutside, number(m, 0), result);
    if (!isMaximum)
      result = m.div(result, m.convert(m.max(counts, m.integer(1)), type));
    double unread = isMaximum ? -std::numeric_limits<double>::infinity() : 0;
    return m.select(isRead, result, number(m, unread));
  }

  NodeContext &c;
  Type type;
  SymbolicShape shape;
  Value rois;
  double spatialScale;
  bool isHalfPixel;
  int64_t pooled[2];
};

} // namespace

static void importRoiAlign(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  c.checkRank(0, 4);
  c.checkRank(1, 2);
  c.checkRank(2, 1);
  std::string mode = c.node.getString("mode", "avg");
  int64_t height = c.node.getInt("output_height", 1), width = c.node.getInt("output_width", 1);
  int64_t ratio = c.node.getInt("sampling_ratio", 0);
  constexpr int64_t kMost = 1 << 16;
  if ((mode != "avg" && mode != "max") || ratio < 0 || ratio > kMost || height < 1 || width < 1 ||
      height > kMost || width > kMost)
    c.fail(ErrorKind::InvalidModel,
           "expected the mode avg or max, an output size and a sampling ratio, found {0}, {1}x{2} "
           "and {3}",
           inQuotes(mode), height, width, ratio);
  if (constantValue(c.shape(1)[1]) != 4 || !sameSize(c.shape(1)[0], c.shape(2)[0]))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected 4 numbers for each of {1} regions, found {2}",
           c.nameOfInput(1), c.text(c.shape(2)), c.text(c.shape(1)));
  Value batches = c.cast(c.input(2, Accepts::Integers), c.builder.getI64Type());
  batches = c.checkedIndices(batches, c.dim(0), c.shape(0)[0]);
  Value result = RoiAlignment(c).run(input, batches, mode == "max", ratio);
  c.result(c.cast(result, c.type(0).getElementType()));
}

//===--------------------------------------------------------------------------===//
// DeformConv
//===--------------------------------------------------------------------------===//

/// Patches whose elements are read where the offsets say, then a product with the filter.
static void importDeformConv(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats), filter = c.input(1);
  c.checkRank(0, 4);
  c.checkSameType(0, 1);
  ConvolutionAttributes conv = readConvolution(c, 1);
  int64_t offsetGroups = c.node.getInt("offset_group", 1);
  SymbolicShape image = c.shape(0), window = c.shape(1), offsets = c.shape(2);
  c.checkRank(2, 4);
  auto channels = constantValue(image[1]);
  if (!channels || offsetGroups < 1 || *channels % offsetGroups != 0)
    c.fail(ErrorKind::InvalidModel,
           "expected offset groups that divide the channels {0}, found {1}", c.text({image[1]}),
           offsetGroups);
  AffineExpr groups = c.dim(offsetGroups), inGroup = c.dim(*channels / offsetGroups);
  Type type = computedType(c, c.type(0).getElementType());
  Value shifts = c.reshape(c.cast(c.input(2), type), {image[0], groups, window[2], window[3],
                                                      c.dim(2), offsets[2], offsets[3]});
  // batch, group, channel, window's rows and columns, result's rows and columns
  Compute compute{{image[0], groups, inGroup, window[2], window[3], offsets[2], offsets[3]},
                  0,
                  {},
                  {},
                  {input}};
  SmallVector<AffineExpr> d = dimensions(c, 0, 7);
  for (int64_t axis : {0, 1})
    compute.reads.push_back({shifts, {d[0], d[1], d[3], d[4], c.dim(axis), d[5], d[6]}});
  if (c.has(4)) {
    Value mask = c.reshape(c.cast(c.input(4), type),
                           {image[0], groups, window[2], window[3], offsets[2], offsets[3]});
    compute.reads.push_back({mask, {d[0], d[1], d[3], d[4], d[5], d[6]}});
  }
  Value patches = writeCompute(c, compute, [&](PointMath &m) {
    Neighbours found;
    for (int axis : {0, 1}) {
      Value start = m.sub(m.mul(m.position(5 + axis), m.integer(conv.strides[axis])),
                          m.integer(conv.pads[axis]));
      Value tap = m.mul(m.position(3 + axis), m.integer(conv.dilations[axis]));
      Value place = m.add(m.convert(m.add(start, tap), type), m.read(axis));
      Value low = m.floor(place), rest = m.sub(place, low);
      found.low[axis] = m.toInteger(low);
      found.high[axis] = m.add(found.low[axis], m.integer(1));
      found.highWeight[axis] = rest;
      found.lowWeight[axis] = m.sub(m.numberOf(type, 1), rest);
    }
    Value channel = m.add(m.mul(m.position(1), m.size(inGroup)), m.position(2)), sum;
    for (int corner = 0; corner < 4; ++corner) {
      auto [place, weight] = found.corner(m, corner);
      Value isInside =
          m.both(m.isInside(place[0], m.size(image[2])), m.isInside(place[1], m.size(image[3])));
      Value element = m.element(0, {m.position(0), channel, place[0], place[1]});
      Value part = m.select(isInside, m.mul(weight, m.convert(element, type)), m.numberOf(type, 0));
      sum = sum ? m.add(sum, part) : part;
    }
    return c.has(4) ? m.mul(sum, m.read(2)) : sum;
  });

  AffineExpr convGroups = c.dim(conv.groups), features = *exactQuotient(window[0], convGroups);
  AffineExpr depth = c.product({window[1], window[2], window[3]});
  AffineExpr places = c.product({offsets[2], offsets[3]});
  if (!sameSize(c.product({convGroups, window[1]}), image[1]))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} channels in {2} groups, found {3}",
           c.nameOfInput(1), c.text({image[1]}), conv.groups, c.text(window));
  Value rows = c.reshape(patches, {image[0], convGroups, depth, places});
  Value weights = c.reshape(c.cast(filter, type), {convGroups, features, depth});
  Value product = contract(c, weights, rows, "gfk", "ngkp", "ngfp");
  Value result = c.reshape(product, {image[0], window[0], offsets[2], offsets[3]});
  if (c.has(3)) {
    Value bias = perFeature(c, c.cast(c.input(3), type), 2);
    result = c.map({result, bias}, [](ScalarMath &m, ValueRange x) { return m.add(x[0], x[1]); });
  }
  c.result(c.cast(result, c.type(0).getElementType()));
}

OperatorFamily regionOperators() {
  static const Operator table[] = {
      {"RoiAlign", 10, importRoiAlign},
      {"DeformConv", 19, importDeformConv},
  };
  return table;
}

} // namespace headrace::onnx
