// Normalizations of com.microsoft, with the additions and embeddings before them.
#include "frontend/onnx/import/ops/reductions/Normalization.h"

#include "frontend/onnx/import/MicrosoftOperators.h"

using namespace mlir;

namespace headrace::onnx {

static float epsilonOf(NodeContext &c) { return c.node.getFloat("epsilon", 1e-12f); }

/// Mean, inverse deviation and the sum are outputs 1 to 3.
struct NormalizedSum {
  Value mean, inverse, sum;
};

static void resultMore(NodeContext &c, const NormalizedSum &found, Type type) {
  Type single = c.builder.getF32Type();
  if (found.mean)
    c.result(c.cast(found.mean, single), 1);
  c.result(c.cast(found.inverse, single), 2);
  c.result(c.cast(found.sum, type), 3);
}

/// Inputs 0 and 1 and a bias, accumulated in `inner`.
static Value sumOf(NodeContext &c, size_t bias, Type inner) {
  if (c.rank(0) < 1 || c.rank(1) > c.rank(0))
    c.fail(ErrorKind::ShapeMismatch,
           "expected a tensor and a residual of at most its rank, got {0} and {1}",
           c.text(c.shape(0)), c.text(c.shape(1)));
  Value sum = add(c, c.cast(c.input(0, Accepts::Floats), inner),
                  c.cast(c.input(1, Accepts::Floats), inner));
  return c.has(bias) ? add(c, sum, c.cast(c.input(bias, Accepts::Floats), inner)) : sum;
}

static Value layerNormalized(NodeContext &c, Value x, Value scale, Value bias) {
  int64_t last = cast<RankedTensorType>(x.getType()).getRank() - 1;
  return c.infer<hr::LayerNormOp>(x, scale, bias, c.builder.getI64IntegerAttr(last),
                                  c.builder.getF64FloatAttr(epsilonOf(c)));
}

static void importSkipLayerNorm(NodeContext &c) {
  Type type = c.type(0).getElementType(), inner = innerType(type);
  Value sum = sumOf(c, 4, inner), scale = c.cast(c.input(2, Accepts::Floats), inner);
  Value bias = c.has(3) ? c.cast(c.input(3, Accepts::Floats), inner) : Value();
  c.result(c.cast(layerNormalized(c, sum, scale, bias), type));
  Statistics found = statistics(c, sum, {c.rank(0) - 1});
  resultMore(c, {found.mean, inverseDeviation(c, found.variance, epsilonOf(c)), sum}, type);
}

static void importSkipRmsNorm(NodeContext &c) {
  Type type = c.type(0).getElementType(), inner = innerType(type);
  Value sum = sumOf(c, 3, inner), scale = c.cast(c.input(2, Accepts::Floats), inner);
  RootMeanSquare found = rootMeanSquare(c, sum, scale, {c.rank(0) - 1}, epsilonOf(c));
  c.result(c.cast(found.normal, type));
  resultMore(c, {nullptr, found.inverse, sum}, type);
}

/// Rows of the table that is input `table`, one for each index.
static Value rows(NodeContext &c, size_t table, Value places) {
  c.checkRank(table, 2);
  AffineExpr size = c.shape(table)[0];
  return c.infer<hr::GatherOp>(c.input(table, Accepts::Floats),
                               c.checkedIndices(places, c.dim(0), size), 0);
}

namespace {
enum Embedding { ids, segmentIds, words, places, segments, scale, shift, mask, placeIds };
} // namespace

/// Embeddings of words, positions and segments, accumulated and normalized.
static void importEmbedLayerNorm(NodeContext &c) {
  c.checkRank(ids, 2);
  c.checkRank(places, 2);
  AffineExpr length = c.shape(ids)[1];
  Value position = c.has(placeIds) ? indices(c, placeIds) : positions(c, length);
  if (!c.has(placeIds))
    c.requireNonNegative(c.shape(places)[0] - length, "positions beyond the sequence");
  Value sum = add(c, rows(c, words, indices(c, ids)), rows(c, places, position));
  if (c.has(segmentIds) && c.has(segments))
    sum = add(c, sum, rows(c, segments, indices(c, segmentIds)));
  c.result(layerNormalized(c, sum, c.input(scale, Accepts::Floats), c.input(shift)));
  // How many words of each sequence the mask leaves.
  Type count = c.builder.getI32Type();
  AffineExpr batch = c.shape(ids)[0];
  if (c.has(mask))
    c.checkRank(mask, 2);
  Value left = c.has(mask) ? c.reduce(hr::ReduceKind::Sum, c.cast(c.input(mask), count), {1}, false)
                           : c.broadcast(c.scalar(0, count), {batch});
  c.result(left, 1);
  c.result(sum, 2);
}

OperatorFamily microsoftNormalizationOperators() {
  static const Operator table[] = {
      {"SkipLayerNormalization", 1, importSkipLayerNorm},
      {"SkipSimplifiedLayerNormalization", 1, importSkipRmsNorm},
      {"EmbedLayerNormalization", 1, importEmbedLayerNorm},
  };
  return table;
}

} // namespace headrace::onnx
