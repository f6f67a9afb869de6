// Transforms of signals: products with matrices that are known when the model is read.
#include "frontend/common/Compute.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/Operators.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace headrace::onnx {

/// Longer transforms would take matrices out of proportion.
static constexpr int64_t kMaxMatrix = 1 << 25;

/// The part of a transform that is computed, and the part of its input.
struct Transform {
  int64_t length;        // of the transform itself
  int64_t read, written; // elements along the axis
  bool readsComplex = true, writesComplex = true;
  bool isInverse = false;
  bool isHalfRead = false; // the other half follows from symmetry
};

/// The matrix [read, parts, written, parts] of a Fourier transform.
static Tensor fourierMatrix(const Transform &t) {
  int64_t in = t.readsComplex ? 2 : 1, out = t.writesComplex ? 2 : 1;
  Tensor matrix = Tensor::allocate(DType::F64, {t.read, in, t.written, out});
  double *to = matrix.as<double>();
  for (int64_t i = 0; i < t.read; ++i)
    for (int64_t part = 0; part < in; ++part)
      for (int64_t k = 0; k < t.written; ++k) {
        // The product taken modulo the length first keeps all its digits.
        double angle = 2 * std::numbers::pi * static_cast<double>(i * k % t.length) /
                       static_cast<double>(t.length);
        double real = std::cos(angle), imaginary = t.isInverse ? std::sin(angle) : -std::sin(angle);
        double weight = t.isInverse ? 1.0 / static_cast<double>(t.length) : 1;
        if (t.isHalfRead && i != 0 && 2 * i != t.length)
          weight *= 2;
        *to++ = weight * (part == 0 ? real : -imaginary);
        if (t.writesComplex)
          *to++ = weight * (part == 0 ? imaginary : real);
      }
  return matrix;
}

/// In double precision: results are small differences of large numbers.
static Value transformed(NodeContext &c, Value given, int64_t axis, const Transform &t) {
  Type type = cast<RankedTensorType>(given.getType()).getElementType();
  Value signal = c.cast(given, c.builder.getF64Type());
  if (t.read * t.written > kMaxMatrix)
    c.fail(ErrorKind::Unsupported, "a transform of {0} elements is not supported", t.length);
  Value matrix = c.OperatorBuilder::constant(fourierMatrix(t));
  std::string letters;
  for (size_t i = 0; i < shapeOf(signal).size(); ++i)
    letters += static_cast<char>('A' + i);
  std::string read{letters[axis], letters.back()}, result = letters;
  result[axis] = 'y';
  result.back() = 'z';
  return c.cast(contract(c, signal, matrix, letters, read + "yz", result), type);
}

static int64_t knownSize(NodeContext &c, AffineExpr size) {
  if (auto known = constantValue(size); known && *known > 0)
    return *known;
  c.fail(ErrorKind::Unsupported, "expected a known length to transform, got {0}", c.text({size}));
}

/// Longer signals are cut, shorter ones end in zeros.
static Value ofLength(NodeContext &c, Value signal, int64_t axis, int64_t length) {
  SymbolicShape shape = shapeOf(signal), starts(shape.size(), c.dim(0));
  int64_t size = knownSize(c, shape[axis]);
  SmallVector<int64_t> low(shape.size(), 0), high(low), ones(shape.size(), 1);
  if (size < length) {
    high[axis] = length - size;
    Type type = cast<RankedTensorType>(signal.getType()).getElementType();
    return c.infer<hr::PadOp>(signal, low, high, cast<TypedAttr>(c.builder.getZeroAttr(type)));
  }
  shape[axis] = c.dim(length);
  return c.slice(signal, starts, shape, ones);
}

static int64_t partsOf(NodeContext &c, AffineExpr last) {
  auto parts = constantValue(last);
  if (parts != 1 && parts != 2)
    c.fail(ErrorKind::ShapeMismatch,
           "{0}: expected a last dimension of 1 (real) or 2 (complex), got {1}", c.nameOfInput(0),
           c.text(c.shape(0)));
  return *parts;
}

/// The axis is an attribute in version 17, an input from 20 on.
static void importDft(NodeContext &c) {
  Value signal = c.input(0, Accepts::Floats);
  int64_t rank = c.rank(0);
  if (rank < 2 || rank > 20)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 2 to 20, got {1}", c.nameOfInput(0),
           c.text(c.shape(0)));
  int64_t given = c.opset < 20 ? c.node.getInt("axis", 1) : -2;
  if (c.opset >= 20 && c.has(2))
    given = c.knownInteger(2);
  int64_t axis = c.axis(given, rank);
  if (axis == rank - 1)
    c.fail(ErrorKind::InvalidModel, "expected an axis before the last, got {0}", given);
  Transform t;
  t.readsComplex = partsOf(c, c.shape(0).back()) == 2;
  t.isInverse = c.node.getInt("inverse", 0) != 0;
  bool isHalf = c.node.getInt("onesided", 0) != 0;
  int64_t size = knownSize(c, c.shape(0)[axis]);
  t.length = isHalf && t.isInverse ? 2 * (size - 1) : size;
  if (c.has(1))
    t.length = knownSize(c, c.size(1));
  if (t.length < 1)
    c.fail(ErrorKind::InvalidModel, "expected a length above 0, got {0}", t.length);
  t.read = t.written = t.length;
  if (isHalf) {
    (t.isInverse ? t.read : t.written) = t.length / 2 + 1;
    t.isHalfRead = t.isInverse;
    t.writesComplex = !t.isInverse;
  }
  c.result(transformed(c, ofLength(c, signal, axis, t.read), axis, t));
}

/// [batch, time, parts] as [batch, frame, frequency, 2].
static void importStft(NodeContext &c) {
  Value signal = c.input(0, Accepts::Floats);
  c.checkRank(0, 3);
  int64_t step = knownSize(c, c.size(1));
  AffineExpr size = c.shape(0)[1], frame = size;
  if (c.has(2)) {
    c.checkRank(2, 1);
    frame = c.shape(2)[0];
  }
  if (c.has(3))
    frame = c.size(3);
  Transform t;
  t.read = t.length = knownSize(c, frame);
  t.readsComplex = partsOf(c, c.shape(0)[2]) == 2;
  t.written = c.node.getInt("onesided", 1) != 0 ? t.length / 2 + 1 : t.length;
  if (c.has(2) && !sameSize(c.shape(2)[0], frame))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} weights, got {2}", c.nameOfInput(2),
           t.length, c.text(c.shape(2)));
  c.requireNonNegative(size - t.length, "length of the signal less a frame");
  AffineExpr frames = normalized((size - t.length).floorDiv(step) + 1);
  SmallVector<AffineExpr> d = dimensions(c, 0, 4);
  Compute compute{{c.shape(0)[0], frames, c.dim(t.length), c.shape(0)[2]}, 0, {}, {}, {}};
  compute.reads.push_back({signal, {d[0], d[1] * step + d[2], d[3]}});
  if (c.has(2)) {
    c.checkSameType(0, 2);
    compute.reads.push_back({c.input(2), {d[2]}});
  }
  Value cut = writeCompute(
      c, compute, [&](PointMath &m) { return c.has(2) ? m.mul(m.read(0), m.read(1)) : m.read(0); });
  c.result(transformed(c, cut, 2, t));
}

/// a - b cos(2 pi i / n) + d cos(4 pi i / n); a periodic one leaves out the last element.
static void importWindow(NodeContext &c, double a, double b, double d) {
  AffineExpr size = c.size(0);
  bool isPeriodic = c.node.getInt("periodic", 1) != 0;
  Type type = c.elementType("output_datatype", 1), wide = c.builder.getF64Type();
  Value window = writeCompute(c, {{size}, 0, {}, {}, {}}, [&](PointMath &m) {
    Value period = m.max(m.size(isPeriodic ? size : size - 1), m.integer(1));
    Value turn =
        m.div(m.mul(m.convert(m.position(0), wide), m.numberOf(wide, 2 * std::numbers::pi)),
              m.convert(period, wide));
    Value first = m.mul(m.numberOf(wide, b), m.op<math::CosOp>(turn));
    Value value = m.sub(m.numberOf(wide, a), first);
    Value twice = m.op<math::CosOp>(m.mul(turn, m.numberOf(wide, 2)));
    return m.convert(m.add(value, m.mul(m.numberOf(wide, d), twice)), type);
  });
  c.result(window);
}
static void importHann(NodeContext &c) { importWindow(c, 0.5, 0.5, 0); }
static void importHamming(NodeContext &c) { importWindow(c, 25.0 / 46, 21.0 / 46, 0); }
static void importBlackman(NodeContext &c) { importWindow(c, 0.42, 0.5, 0.08); }

/// Triangles over the frequencies of a transform, at equal distances on the mel scale.
static void importMelWeightMatrix(NodeContext &c) {
  auto number = [&](size_t i) {
    std::vector<double> found = c.numbers(i);
    if (found.size() != 1 || !std::isfinite(found[0]))
      c.fail(ErrorKind::InvalidModel, "{0}: expected one number, got {1}", c.nameOfInput(i),
             found.size());
    return found[0];
  };
  double bins = number(0), length = number(1), rate = number(2), low = number(3), high = number(4);
  if (!(bins >= 1 && length >= 1 && rate > 0 && bins * length < kMaxMatrix && low >= 0 &&
        high >= low))
    c.fail(ErrorKind::InvalidModel,
           "expected bins, a length, a rate and two ascending frequencies, got {0}, {1}, {2}, {3} "
           "and {4}",
           bins, length, rate, low, high);
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  auto columns = static_cast<int64_t>(bins), rows = static_cast<int64_t>(length) / 2 + 1;
  double step = (mel(high) - mel(low)) / (bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < columns + 2; ++i) {
    double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor((length + 1) * hertz / rate)));
  }
  Tensor weights = Tensor::allocate(DType::F64, {rows, columns});
  std::fill_n(weights.as<double>(), weights.elements(), 0.0);
  auto put = [&](int64_t row, int64_t column, double value) {
    if (row < rows)
      weights.as<double>()[row * columns + column] = value;
  };
  for (int64_t i = 0; i < columns; ++i) {
    int64_t first = edges[i], center = edges[i + 1], last = edges[i + 2];
    if (first == center)
      put(center, i, 1);
    for (int64_t j = first; first < center && j <= std::min(center, rows - 1); ++j)
      put(j, i, static_cast<double>(j - first) / static_cast<double>(center - first));
    for (int64_t j = center; j < std::min(last, rows); ++j)
      put(j, i, static_cast<double>(last - j) / static_cast<double>(last - center));
  }
  c.result(weights.converted(toDType(c.elementType("output_datatype", 1))));
}

OperatorFamily signalOperators() {
  static const Operator table[] = {
      {"DFT", 17, importDft},
      {"STFT", 17, importStft},
      {"HannWindow", 17, importHann},
      {"HammingWindow", 17, importHamming},
      {"BlackmanWindow", 17, importBlackman},
      {"MelWeightMatrix", 17, importMelWeightMatrix},
  };
  return table;
}

} // namespace headrace::onnx
