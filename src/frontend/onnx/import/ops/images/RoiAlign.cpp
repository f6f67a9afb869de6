// RoiAlign: regions of images, divided into bins, each the average or the maximum of samples at
// places between elements.
//
// The weights of a sample are products of one for its row and one for its column, none of them
// negative. So rows of samples are combined first, for all columns of the image, and columns then.
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/images/Regions.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

/// Where the bins of all regions are read along an axis, as [region, bin, step]: an element and the
/// one after it, each with its weight.
struct Samples {
  Value element, weight, nextWeight;
  AffineExpr steps;
};

class RoiAlignment {
public:
  RoiAlignment(NodeContext &c, bool isMaximum, int64_t ratio)
      : c(c), isMaximum(isMaximum), ratio(ratio), type(innerType(c.type(0).getElementType())),
        shape(c.shape(0)), regions(c.shape(1)[0]), rois(c.cast(c.input(1, Accepts::Floats), type)),
        spatialScale(c.node.getFloat("spatial_scale", 1)),
        isHalfPixel(c.opset >= 16 && c.node.getString("coordinate_transformation_mode",
                                                      "half_pixel") == "half_pixel"),
        pooled{c.node.getInt("output_height", 1), c.node.getInt("output_width", 1)} {}

  Value run(Value input, Value batches) {
    Value rows = combine(0, batches, input, shape[3]);
    return combine(1, Value(), rows, c.dim(pooled[1]));
  }

private:
  Value number(PointMath &m, double value) { return m.numberOf(type, value); }

  /// The samples of an axis, combined; `columns` is the last size of the result. Each region has an
  /// image of its own unless `batches` says which.
  Value combine(int axis, Value batches, Value table, AffineExpr columns) {
    Samples samples = samplesOf(axis);
    SmallVector<AffineExpr> d = dimensions(c, 0, 5);
    SmallVector<AffineExpr> place{d[0], d[2 + axis], d[4]};
    std::vector<Read> reads{
        {samples.element, place}, {samples.weight, place}, {samples.nextWeight, place}};
    if (batches)
      reads.push_back({batches, {d[0]}});
    Compute compute{{regions, shape[1], c.dim(pooled[0]), columns, samples.steps},
                    1,
                    isMaximum ? hr::ReduceKind::Max : hr::ReduceKind::Sum,
                    reads,
                    {table}};
    return writeCompute(c, compute, [&](PointMath &m) {
      SmallVector<Value> at{batches ? m.read(3) : m.position(0), m.position(1), m.position(2),
                            m.position(3)};
      at[2 + axis] = m.read(0);
      Value here = m.mul(m.read(1), m.convert(m.element(0, at), type));
      at[2 + axis] = m.add(at[2 + axis], m.integer(1));
      Value next = m.mul(m.read(2), m.convert(m.element(0, at), type));
      return isMaximum ? m.max(here, next) : m.add(here, next);
    });
  }

  struct Sample {
    Value element, rest; // of the place between it and the next one
    Value share;         // of the bin
    Value isUsed;
  };

  Samples samplesOf(int axis) {
    // All samples of a bin that are in the image, which are less than an element apart, and some
    // on either side.
    AffineExpr steps = ratio > 0 ? c.dim(ratio) : shape[2 + axis] + 8;
    auto each = [&](function_ref<Value(PointMath &, Sample)> part) {
      AffineExpr roi = getAffineDimExpr(0, c.context);
      std::vector<Read> reads{{rois, {roi, c.dim(1 - axis)}}, {rois, {roi, c.dim(3 - axis)}}};
      return writeCompute(c, {{regions, c.dim(pooled[axis]), steps}, 0, {}, reads, {}},
                          [&](PointMath &m) { return part(m, sampleAt(m, axis)); });
    };
    auto used = [&](PointMath &m, const Sample &at, Value weight) {
      return m.select(at.isUsed, weight, number(m, 0));
    };
    return {each([&](PointMath &, Sample at) { return at.element; }),
            each([&](PointMath &m, Sample at) {
              return used(m, at, m.sub(at.share, m.mul(at.share, at.rest)));
            }),
            each([&](PointMath &m, Sample at) { return used(m, at, m.mul(at.share, at.rest)); }),
            steps};
  }

  /// The sample of the point (region, bin, step).
  Sample sampleAt(PointMath &m, int axis) {
    Value begin = m.mul(m.read(0), number(m, spatialScale));
    Value extent = m.mul(m.sub(m.read(1), m.read(0)), number(m, spatialScale));
    if (isHalfPixel)
      begin = m.sub(begin, number(m, 0.5));
    else
      extent = m.max(extent, number(m, 1));
    Value bin = m.div(extent, number(m, static_cast<double>(pooled[axis])));
    Value start = m.add(begin, m.mul(m.convert(m.position(1), type), bin));

    Value step = m.position(2), count = m.integer(ratio), isRead;
    if (ratio == 0) {
      // One for each element that the bin covers. Those before the image are passed over.
      Value covered = m.min(m.max(m.op<math::CeilOp>(bin), number(m, 0)), number(m, maxSamples));
      Value before = m.div(m.mul(m.sub(number(m, -1), start), covered), bin);
      before = m.max(m.min(m.sub(m.floor(before), number(m, 2)), covered), number(m, 0));
      count = m.toInteger(covered);
      step = m.add(step, m.toInteger(before));
      isRead = m.less(step, count);
      // A maximum may see a sample twice.
      step = m.max(m.min(step, m.sub(count, m.integer(1))), m.integer(0));
    }
    Value real = m.convert(m.max(count, m.integer(1)), type);
    Value place =
        m.add(start, m.div(m.mul(m.add(m.convert(step, type), number(m, 0.5)), bin), real));
    Value length = m.convert(m.size(shape[2 + axis]), type);
    // Samples outside of the image are 0; next to it they are brought to its edge.
    Value isUsed = m.both(m.compare(ScalarMath::Compare::GreaterOrEqual, place, number(m, -1)),
                          m.compare(ScalarMath::Compare::GreaterOrEqual, length, place));
    Value isAny = m.less(m.integer(0), count);
    isUsed = m.both(isUsed, isRead && !isMaximum ? isRead : isAny);

    Value last = m.sub(m.size(shape[2 + axis]), m.integer(1));
    Value at = m.min(m.max(place, number(m, 0)), length), low = m.toInteger(m.floor(at));
    Value isLast = m.compare(ScalarMath::Compare::GreaterOrEqual, low, last);
    Value rest = m.select(isLast, number(m, 0), m.sub(at, m.convert(low, type)));
    Value share = isMaximum ? number(m, 1) : m.div(number(m, 1), real);
    return {m.select(isLast, last, low), rest, share, isUsed};
  }

  static constexpr double maxSamples = 1 << 30;

  NodeContext &c;
  const bool isMaximum;
  const int64_t ratio; // samples along each axis of a bin; 0: as many as it covers elements
  const Type type;
  const SymbolicShape shape;
  const AffineExpr regions;
  const Value rois;
  const double spatialScale;
  const bool isHalfPixel;
  const int64_t pooled[2];
};

} // namespace

void importRoiAlign(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  c.checkRank(0, 4);
  c.checkRank(1, 2);
  c.checkRank(2, 1);
  std::string mode = c.node.getString("mode", "avg");
  int64_t height = c.node.getInt("output_height", 1), width = c.node.getInt("output_width", 1);
  int64_t ratio = c.node.getInt("sampling_ratio", 0);
  constexpr int64_t kMax = 1 << 16;
  if ((mode != "avg" && mode != "max") || ratio < 0 || ratio > kMax || height < 1 || width < 1 ||
      height > kMax || width > kMax)
    c.fail(ErrorKind::InvalidModel,
           "expected the mode avg or max, an output size and a sampling ratio, got {0}, {1}x{2} "
           "and {3}",
           inQuotes(mode), height, width, ratio);
  if (constantValue(c.shape(1)[1]) != 4 || !sameSize(c.shape(1)[0], c.shape(2)[0]))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected 4 values for each of {1} regions, got {2}",
           c.nameOfInput(1), c.text(c.shape(2)), c.text(c.shape(1)));
  Value batches = c.cast(c.input(2, Accepts::Integers), c.builder.getI64Type());
  batches = c.checkedIndices(batches, c.dim(0), c.shape(0)[0]);
  Value result = RoiAlignment(c, mode == "max", ratio).run(input, batches);
  c.result(c.cast(result, c.type(0).getElementType()));
}

} // namespace headrace::onnx
