// DeformConv: a convolution whose windows read images at places that data gives.
#include "frontend/common/Compute.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/ops/images/Regions.h"
#include "frontend/onnx/import/ops/windows/Windows.h"

using namespace mlir;

namespace headrace::onnx {

/// f16 and bf16 are computed in f32.
static Type computedType(NodeContext &c, Type type) {
  return type.isF64() ? type : c.builder.getF32Type();
}

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

/// Patches whose elements are read where the offsets say, then a product with the filter.
void importDeformConv(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats), filter = c.input(1);
  c.checkRank(0, 4);
  c.checkSameType(0, 1);
  ConvolutionAttributes conv = readConvolution(c, 1);
  if (conv.open)
    c.fail(ErrorKind::InvalidModel, "expected pads, got attribute 'auto_pad'");
  int64_t offsetGroups = c.node.getInt("offset_group", 1);
  SymbolicShape image = c.shape(0), window = c.shape(1), offsets = c.shape(2);
  c.checkRank(2, 4);
  auto channels = constantValue(image[1]);
  if (!channels || offsetGroups < 1 || *channels % offsetGroups != 0)
    c.fail(ErrorKind::InvalidModel, "expected offset groups that divide the channels {0}, got {1}",
           c.text({image[1]}), offsetGroups);
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
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} channels in {2} groups, got {3}",
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

} // namespace headrace::onnx
