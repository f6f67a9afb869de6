// Support vector machines, in the form of libsvm and of liblinear.
#include "dialect/scalar/Formulas.h"
#include "frontend/common/Compute.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/MachineLearningOperators.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/ml/PairwiseProbabilities.h"
#include "frontend/onnx/import/ops/ml/Scores.h"

using namespace mlir;

namespace headrace::onnx {

static Value power(ScalarMath &m, Value x, double degree) {
  constexpr double kMaxFactors = 8;
  if (degree < 0 || degree > kMaxFactors || degree != std::floor(degree))
    return m.op<math::PowFOp>(x, m.number(x, degree));
  Value result = m.number(x, 1);
  for (int i = 0; i < degree; ++i)
    result = m.mul(result, x);
  return result;
}

/// How similar each row is to each of the vectors.
static Value kernel(NodeContext &c, Value rows, Value vectors) {
  std::string name = oneOf(c, "kernel_type", "LINEAR", {"LINEAR", "POLY", "RBF", "SIGMOID"});
  std::vector<double> params = floatsAttribute(c, "kernel_params");
  params.resize(3);
  double gamma = params[0], shift = params[1], degree = params[2];
  if (name == "RBF") {
    // Differences, not products: those cancel if rows are near.
    SmallVector<AffineExpr> d = dimensions(c, 0, 3);
    Compute compute{{shapeOf(rows)[0], shapeOf(vectors)[0], shapeOf(rows)[1]},
                    1,
                    hr::ReduceKind::Sum,
                    {{rows, {d[0], d[2]}}, {vectors, {d[1], d[2]}}},
                    {}};
    Value distances = writeCompute(c, compute, [](PointMath &m) {
      Value difference = m.sub(m.read(0), m.read(1));
      return m.mul(difference, difference);
    });
    return c.map({distances}, [&](ScalarMath &m, ValueRange x) {
      return m.exp(m.mul(m.number(x[0], -gamma), x[0]));
    });
  }
  Value products = contract(c, rows, vectors, "mk", "nk", "mn");
  if (name == "LINEAR")
    return products;
  return c.map({products}, [&](ScalarMath &m, ValueRange x) {
    Value affine = m.add(m.mul(m.number(x[0], gamma), x[0]), m.number(x[0], shift));
    return name == "POLY" ? power(m, affine, degree) : m.op<math::TanhOp>(affine);
  });
}

/// The attribute as `count` vectors, of as many features as the rows then have.
static Value vectorsOf(NodeContext &c, const char *attribute, int64_t count, Value &rows) {
  std::vector<double> numbers = floatsAttribute(c, attribute);
  auto total = static_cast<int64_t>(numbers.size());
  if (total == 0 || total % count != 0)
    c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected {1} vectors, got {2} values",
           attribute, count, total);
  rows = withFeatures(c, rows, total / count);
  return floatConstant(c, numbers, {count, total / count}, elementTypeOf(rows));
}

/// The first of the offsets that are added at the end.
static double offset(NodeContext &c) {
  std::vector<double> rho = floatsAttribute(c, "rho");
  if (rho.empty())
    c.fail(ErrorKind::InvalidModel, "attribute 'rho': expected a number, got none");
  return rho[0];
}

static Value shifted(NodeContext &c, Value x, double by) {
  return c.map({x}, [&](ScalarMath &m, ValueRange v) { return m.add(v[0], m.number(v[0], by)); });
}

static void importSVMRegressor(NodeContext &c) {
  Value rows = featureRows(c, c.builder.getF32Type());
  int64_t supports = c.node.getInt("n_supports", 0);
  Value scores;
  if (supports > 0) {
    std::vector<double> coefficients = floatsAttribute(c, "coefficients");
    checkLength(c, "coefficients", coefficients.size(), supports);
    Value supporting = vectorsOf(c, "support_vectors", supports, rows);
    Value similar = kernel(c, rows, supporting);
    Value weights = floatConstant(c, coefficients, {1, supports}, elementTypeOf(rows));
    scores = contract(c, similar, weights, "mk", "nk", "mn");
  } else {
    Value weights = vectorsOf(c, "coefficients", 1, rows);
    scores = contract(c, rows, weights, "mk", "nk", "mn");
  }
  scores = shifted(c, scores, offset(c));
  if (c.node.getInt("one_class", 0) != 0)
    scores = c.map({scores}, [](ScalarMath &m, ValueRange x) {
      return m.select(m.isPositive(x[0]), m.number(x[0], 1), m.number(x[0], -1));
    });
  c.result(transformed(c, scores, postTransform(c)));
}

//===--------------------------------------------------------------------------===//
// SVMClassifier
//===--------------------------------------------------------------------------===//

namespace {

/// A machine for each pair of classes: 0-1, 0-2, ... 1-2, ...
class PairwiseClassifier {
public:
  PairwiseClassifier(NodeContext &c, std::vector<int64_t> sizes)
      : c(c), sizes(std::move(sizes)), classes(this->sizes.size()),
        pairs(classes * (classes - 1) / 2) {
    for (int64_t size : this->sizes) {
      constexpr int64_t kMax = int64_t(1) << 31;
      if (size < 0 || size > kMax || vectors > kMax)
        c.fail(ErrorKind::InvalidModel,
               "attribute 'vectors_per_class': expected sizes from 0 to 2^31, got {0}", size);
      starts.push_back(vectors);
      vectors += size;
    }
    if (vectors == 0 || pairs == 0)
      c.fail(ErrorKind::InvalidModel, "expected vectors of two classes or more, got {0} of {1}",
             vectors, classes);
  }

  /// Positive if the first class of a pair is chosen.
  Value scores(Value rows) {
    Type type = elementTypeOf(rows);
    std::vector<double> rho = floatsAttribute(c, "rho");
    checkLength(c, "rho", rho.size(), pairs);
    Value supporting = vectorsOf(c, "support_vectors", vectors, rows);
    Value similar = kernel(c, rows, supporting);
    Value weights = floatConstant(c, pairWeights(), {pairs, vectors}, type);
    Value sums = contract(c, similar, weights, "mk", "nk", "mn");
    return add(c, sums, floatConstant(c, rho, {1, pairs}, type));
  }

  /// The class that wins most of its pairs, the first of equal ones.
  Value labels(Value scores, const std::vector<int64_t> &names) {
    std::vector<int64_t> first, second;
    for (int64_t i = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j) {
        first.push_back(i);
        second.push_back(j);
      }
    SmallVector<AffineExpr> d = dimensions(c, 0, 3);
    Compute compute{{shapeOf(scores)[0], c.dim(classes), c.dim(pairs)},
                    1,
                    hr::ReduceKind::Sum,
                    {{scores, {d[0], d[2]}},
                     {integerConstant(c, first), {d[2]}},
                     {integerConstant(c, second), {d[2]}}},
                    {}};
    Value votes = writeCompute(c, compute, [](PointMath &m) {
      Value winner = m.select(m.isPositive(m.read(0)), m.read(1), m.read(2));
      return m.select(m.equal(winner, m.position(1)), m.integer(1), m.integer(0));
    });
    return labelOfLargest(c, votes, names);
  }

  Value probabilities(Value scores) {
    Type type = elementTypeOf(scores);
    std::vector<double> slopes = floatsAttribute(c, "prob_a"),
                        shifts = floatsAttribute(c, "prob_b");
    checkLength(c, "prob_a", slopes.size(), pairs);
    checkLength(c, "prob_b", shifts.size(), pairs);
    Value a = floatConstant(c, slopes, {1, pairs}, type);
    Value b = floatConstant(c, shifts, {1, pairs}, type);
    Value each = c.map({scores, a, b}, [](ScalarMath &m, ValueRange x) {
      constexpr double kLeast = 1e-7;
      Value p = formulas::sigmoid(m, m.neg(m.add(m.mul(x[0], x[1]), x[2])));
      return m.min(m.max(p, m.number(p, kLeast)), m.number(p, 1 - kLeast));
    });
    return classProbabilities(c, each, classes);
  }

  int64_t pairCount() const { return pairs; }

private:
  /// The coefficients have a row less than there are classes: each vector has one for every class
  /// but its own.
  std::vector<double> pairWeights() {
    constexpr int64_t kMax = int64_t(1) << 28;
    std::vector<double> given = floatsAttribute(c, "coefficients");
    checkLength(c, "coefficients", given.size(), (classes - 1) * vectors);
    if (pairs > kMax / vectors)
      c.fail(ErrorKind::Unsupported, "expected at most 2^28 coefficients of pairs, got {0} x {1}",
             pairs, vectors);
    std::vector<double> weights(pairs * vectors, 0);
    int64_t pair = 0;
    for (int64_t i = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j, ++pair) {
        for (int64_t v = starts[i]; v < starts[i] + sizes[i]; ++v)
          weights[pair * vectors + v] = given[(j - 1) * vectors + v];
        for (int64_t v = starts[j]; v < starts[j] + sizes[j]; ++v)
          weights[pair * vectors + v] = given[i * vectors + v];
      }
    return weights;
  }

  NodeContext &c;
  std::vector<int64_t> sizes, starts; // of the vectors of each class
  int64_t classes, pairs, vectors = 0;
};

} // namespace

static void importSVMClassifier(NodeContext &c) {
  Value rows = featureRows(c, c.builder.getF32Type());
  std::vector<int64_t> labels = classLabels(c, "classlabels_ints");
  std::vector<int64_t> sizes = c.node.getInts("vectors_per_class");
  PostTransform transform = postTransform(c);
  if (sizes.empty()) { // a linear machine for each class
    Value weights = vectorsOf(c, "coefficients", labels.size(), rows);
    Value scores = shifted(c, contract(c, rows, weights, "mk", "nk", "mn"), offset(c));
    c.result(labelOfLargest(c, scores, labels), 0);
    return c.result(transformed(c, scores, transform), 1);
  }
  constexpr size_t kMaxClasses = 4096;
  checkLength(c, "vectors_per_class", sizes.size(), labels.size());
  if (labels.size() > kMaxClasses)
    c.fail(ErrorKind::Unsupported, "expected at most {0} classes, got {1}", kMaxClasses,
           labels.size());
  PairwiseClassifier machine(c, sizes);
  Value scores = machine.scores(rows);
  c.result(machine.labels(scores, labels), 0);
  if (!floatsAttribute(c, "prob_a").empty())
    return c.result(transformed(c, machine.probabilities(scores), transform), 1);
  if (machine.pairCount() > 1)
    return c.result(transformed(c, scores, transform), 1);
  bool isRaw = transform == PostTransform::None;
  c.result(scorePair(c, scores, isRaw ? FirstClass::Negated : FirstClass::Complement, transform),
           1);
}

OperatorFamily supportVectorOperators() {
  static const Operator table[] = {
      {"SVMRegressor", 1, importSVMRegressor},
      {"SVMClassifier", 1, importSVMClassifier},
  };
  return table;
}

} // namespace headrace::onnx
