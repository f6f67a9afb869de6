// Ensembles of decision trees, as forests whose leaves are combined.
#include "dialect/ops/trees/Trees.h"

#include "frontend/onnx/import/MachineLearningOperators.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/ml/Forest.h"
#include "frontend/onnx/import/ops/ml/PackedForest.h"
#include "frontend/onnx/import/ops/ml/Scores.h"

#include <limits>
#include <set>

using namespace mlir;

namespace headrace::onnx {

enum class Aggregate { Average, Sum, Min, Max };

namespace {

class Ensemble {
public:
  Ensemble(NodeContext &c, WeightedForest source, int64_t targets, Aggregate aggregate, Type type)
      : c(c), forest(std::move(source.forest)), aggregate(aggregate), type(type), targets(targets) {
    constexpr int64_t kMaxWeights = int64_t(1) << 27;
    if (targets < 1 || targets > kMaxWeights / std::max<int64_t>(forest.leaves, 1))
      c.fail(ErrorKind::InvalidModel,
             "expected 1 target or more, and at most 2^27 weights of leaves, got {0} targets and "
             "{1} leaves",
             targets, forest.leaves);
    fillWeights(source.weights);
  }

  /// [rows, targets]
  Value scores(Value rows) {
    checkFeatures(shapeOf(rows)[1]);
    return combined(walked(rows));
  }

private:
  /// A table of leaves and targets; what a leaf says nothing of does not count.
  void fillWeights(const std::vector<LeafWeight> &given) {
    bool isSum = aggregate == Aggregate::Sum || aggregate == Aggregate::Average;
    double infinity = std::numeric_limits<double>::infinity();
    unset = isSum ? 0 : aggregate == Aggregate::Min ? infinity : -infinity;
    weights.assign(std::max<int64_t>(forest.leaves, 1) * targets, unset);
    for (const LeafWeight &each : given) {
      if (each.target < 0 || each.target >= targets)
        c.fail(ErrorKind::InvalidModel, "expected targets from 0 to {0}, got {1}", targets - 1,
               each.target);
      double &sum = weights[each.leaf * targets + each.target];
      if (isSum)
        sum += each.weight;
      else
        sum = aggregate == Aggregate::Min ? std::min(sum, each.weight) : std::max(sum, each.weight);
    }
  }

  void checkFeatures(AffineExpr features) {
    int64_t needed = forest.largestFeature + 1;
    auto known = constantValue(features);
    if (known && *known < needed)
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} features or more, got {2}",
             c.nameOfInput(0), needed, *known);
    if (!known)
      c.requireNonNegative(features - needed, "features less those that trees ask for");
  }

  /// In double precision if a word has no room for the nodes: comparisons are the same.
  Value walked(Value rows) {
    std::optional<PackedForest> words = packed(c, forest, type.isF64());
    if (!words) {
      words = packed(c, forest, /*isDouble=*/true);
      type = c.builder.getF64Type();
    }
    auto trees = static_cast<int64_t>(words->roots.size());
    auto places = static_cast<int64_t>(words->leaves.size());
    Value nodes = integerConstant(c, words->nodes);
    if (type.isF64())
      nodes = c.reshape(nodes, {c.dim(places), c.dim(2)});
    Value weightTable =
        floatConstant(c, weights, {std::max<int64_t>(forest.leaves, 1), targets}, type);
    hr::ReduceKind kind = aggregate == Aggregate::Min   ? hr::ReduceKind::Min
                          : aggregate == Aggregate::Max ? hr::ReduceKind::Max
                                                        : hr::ReduceKind::Sum;
    return c.create<hr::ForestOp>(c.checkedType({shapeOf(rows)[0], c.dim(targets)}, type),
                                  c.cast(rows, type), indexConstant(c, words->roots, {trees}),
                                  indexConstant(c, words->depths, {trees}), nodes,
                                  indexConstant(c, words->leaves, {places}), weightTable,
                                  words->featureBits, words->depth, forest.treatsNaN, kind);
  }

  Value combined(Value result) {
    if (aggregate == Aggregate::Average)
      return scaled(c, result, 1.0 / static_cast<double>(forest.roots.size()));
    if (aggregate == Aggregate::Sum)
      return result;
    return c.map({result}, [&](ScalarMath &m, ValueRange x) {
      Value isUnset = m.compare(ScalarMath::Compare::Equal, x[0], m.number(x[0], unset));
      return m.select(isUnset, m.number(x[0], 0), x[0]);
    });
  }

  NodeContext &c;
  Forest forest;
  const Aggregate aggregate;
  Type type;
  const int64_t targets;
  std::vector<double> weights;
  double unset = 0;
};

} // namespace

/// Thresholds are compared in double precision if rows or thresholds are such.
static Type comparedType(NodeContext &c) {
  const Attribute *values = c.node.find("nodes_values_as_tensor");
  bool isDouble = c.type(0).getElementType().isF64() ||
                  (values && values->tensor && values->tensor.dtype() == DType::F64);
  return isDouble ? Type(c.builder.getF64Type()) : Type(c.builder.getF32Type());
}

/// One base value serves a single target.
static Value withBase(NodeContext &c, Value scores, const std::vector<double> &base) {
  if (base.empty())
    return scores;
  auto targets = constantValue(shapeOf(scores)[1]);
  checkLength(c, "base_values", base.size(), *targets);
  return add(c, scores, floatConstant(c, base, {1, *targets}, elementTypeOf(scores)));
}

static void importTreeRegressor(NodeContext &c) {
  constexpr const char *kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  std::string name = oneOf(c, "aggregate_function", "SUM", kNames);
  auto aggregate = static_cast<Aggregate>(llvm::find(kNames, name) - std::begin(kNames));
  c.input(0, Accepts::Numbers);
  Type type = comparedType(c);
  Value rows = featureRows(c, type);
  Ensemble trees(c, readForest(c, "target", type), c.node.getInt("n_targets", 1), aggregate, type);
  Value scores = withBase(c, trees.scores(rows), floatsAttribute(c, "base_values"));
  c.result(c.cast(transformed(c, scores, postTransform(c)), c.builder.getF32Type()));
}

/// Two classes may have one score: that of weights which all name the first class, though they
/// speak for the second. Weights that are all positive add up to its probability.
static void importTreeClassifier(NodeContext &c) {
  c.input(0, Accepts::Numbers);
  Type type = comparedType(c), result = c.builder.getF32Type();
  Value rows = featureRows(c, type);
  std::vector<int64_t> labels = classLabels(c, "classlabels_int64s");
  WeightedForest source = readForest(c, "class", type);
  PostTransform transform = postTransform(c);
  std::vector<double> base = floatsAttribute(c, "base_values");
  std::set<int64_t> classes;
  bool isPositive = true;
  for (const LeafWeight &each : source.weights) {
    classes.insert(each.target);
    isPositive &= each.weight >= 0;
  }
  bool isSingle = labels.size() == 2 && classes == std::set<int64_t>{0};
  int64_t targets = isSingle ? 1 : labels.size();
  if (isSingle && base.size() == 2)
    base.pop_back();
  Ensemble trees(c, std::move(source), targets, Aggregate::Sum, type);
  Value scores = withBase(c, trees.scores(rows), base);
  if (isSingle) {
    FirstClass first = isPositive ? FirstClass::Complement : FirstClass::Negated;
    c.result(labelAbove(c, scores, isPositive ? 0.5 : 0, labels), 0);
    return c.result(c.cast(scorePair(c, scores, first, transform), result), 1);
  }
  if (labels.size() == 2 && classes == std::set<int64_t>{1}) {
    Value second = part(c, scores, 1, c.dim(1), c.dim(1));
    c.result(labelAbove(c, second, isPositive ? 0.5 : 0, labels), 0);
  } else {
    c.result(labelOfLargest(c, scores, labels), 0);
  }
  c.result(c.cast(transformed(c, scores, transform), result), 1);
}

static void importTreeEnsemble(NodeContext &c) {
  auto choice = [&](const char *attribute, int64_t otherwise, int64_t count) {
    int64_t number = c.node.getInt(attribute, otherwise);
    if (number < 0 || number >= count)
      c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected 0 to {1}, got {2}", attribute,
             count - 1, number);
    return number;
  };
  auto aggregate = static_cast<Aggregate>(choice("aggregate_function", 1, 4));
  auto transform = static_cast<PostTransform>(choice("post_transform", 0, 5));
  c.input(0, Accepts::Floats);
  Type given = c.type(0).getElementType(), type = innerType(given);
  Value rows = featureRows(c, type);
  Ensemble trees(c, readIndexedForest(c, type), c.node.getInt("n_targets", 1), aggregate, type);
  c.result(c.cast(transformed(c, trees.scores(rows), transform), given));
}

OperatorFamily treeOperators() {
  static const Operator table[] = {
      {"TreeEnsembleRegressor", 1, importTreeRegressor},
      {"TreeEnsembleClassifier", 1, importTreeClassifier},
      {"TreeEnsemble", 5, importTreeEnsemble},
  };
  return table;
}

} // namespace headrace::onnx
