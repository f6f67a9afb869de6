// Linear regression and classification.
#include "frontend/common/Products.h"
#include "frontend/onnx/import/MachineLearningOperators.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/ml/Scores.h"

using namespace mlir;

namespace headrace::onnx {

/// rows x coefficients' + intercepts, for `targets` targets.
static Value linearScores(NodeContext &c, Value rows, int64_t targets) {
  std::vector<double> coefficients = floatsAttribute(c, "coefficients");
  std::vector<double> intercepts = floatsAttribute(c, "intercepts");
  auto count = static_cast<int64_t>(coefficients.size());
  if (targets < 1 || count == 0 || count % targets != 0)
    c.fail(ErrorKind::InvalidModel,
           "attribute 'coefficients': expected a multiple of {0} elements, got {1}", targets,
           count);
  rows = withFeatures(c, rows, count / targets);
  Type type = elementTypeOf(rows);
  Value weights = floatConstant(c, coefficients, {targets, count / targets}, type);
  Value scores = contract(c, rows, weights, "mk", "nk", "mn");
  if (intercepts.empty())
    return scores;
  checkLength(c, "intercepts", intercepts.size(), targets);
  return add(c, scores, floatConstant(c, intercepts, {1, targets}, type));
}

static void importLinearRegressor(NodeContext &c) {
  Value rows = featureRows(c, c.builder.getF32Type());
  Value scores = linearScores(c, rows, c.node.getInt("targets", 1));
  c.result(transformed(c, scores, postTransform(c)));
}

static void importLinearClassifier(NodeContext &c) {
  Value rows = featureRows(c, c.builder.getF32Type());
  std::vector<int64_t> labels = classLabels(c, "classlabels_ints");
  std::vector<double> intercepts = floatsAttribute(c, "intercepts");
  int64_t classes = intercepts.empty() ? labels.size() : intercepts.size();
  Value scores = linearScores(c, rows, classes);
  PostTransform transform = postTransform(c);
  if (classes == 1 && labels.size() == 2) {
    c.result(labelAbove(c, scores, 0, labels), 0);
    return c.result(scorePair(c, scores, FirstClass::Complement, transform), 1);
  }
  checkLength(c, "classlabels_ints", labels.size(), classes);
  c.result(labelOfLargest(c, scores, labels), 0);
  c.result(transformed(c, scores, transform), 1);
}

OperatorFamily linearModelOperators() {
  static const Operator table[] = {
      {"LinearRegressor", 1, importLinearRegressor},
      {"LinearClassifier", 1, importLinearClassifier},
  };
  return table;
}

} // namespace headrace::onnx
