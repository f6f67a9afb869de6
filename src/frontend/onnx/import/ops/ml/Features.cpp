// Features made ready for a model: scaled, filled in, encoded, put side by side.
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/MachineLearningOperators.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/ml/Scores.h"

using namespace mlir;

namespace headrace::onnx {

/// A list of one number, or of one for each feature that the rows then have.
static Value perFeature(NodeContext &c, const char *attribute, double otherwise, Value &rows) {
  std::vector<double> numbers = floatsAttribute(c, attribute);
  if (numbers.empty())
    numbers = {otherwise};
  if (numbers.size() > 1)
    rows = withFeatures(c, rows, numbers.size());
  Type type = elementTypeOf(rows);
  return floatConstant(c, numbers, {static_cast<int64_t>(numbers.size())}, type);
}

static void importScaler(NodeContext &c) {
  Value input = c.cast(c.input(0, Accepts::Numbers), c.builder.getF32Type());
  Value offset = perFeature(c, "offset", 0, input), scale = perFeature(c, "scale", 1, input);
  c.result(multiply(c, subtract(c, input, offset), scale));
}

/// A row whose norm is 0 stays as it is.
static void importNormalizer(NodeContext &c) {
  std::string norm = oneOf(c, "norm", "MAX", {"MAX", "L1", "L2"});
  Value input = c.cast(c.input(0, Accepts::Numbers), c.builder.getF32Type());
  if (c.rank(0) < 1)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rows of features, got a scalar",
           c.nameOfInput(0));
  Value parts = input;
  if (norm != "MAX")
    parts = c.map({input}, [&](ScalarMath &m, ValueRange x) {
      return norm == "L1" ? m.abs(x[0]) : m.mul(x[0], x[0]);
    });
  auto kind = norm == "MAX" ? hr::ReduceKind::Max : hr::ReduceKind::Sum;
  Value total = c.reduce(kind, parts, c.rank(0) - 1, /*keepDims=*/true);
  c.result(c.map({input, total}, [&](ScalarMath &m, ValueRange x) {
    Value size = norm == "L2" ? m.op<math::SqrtOp>(x[1]) : x[1];
    Value isZero = m.compare(ScalarMath::Compare::Equal, size, m.number(size, 0));
    return m.div(x[0], m.select(isZero, m.number(size, 1), size));
  }));
}

static void importBinarizer(NodeContext &c) {
  double threshold = c.node.getFloat("threshold", 0);
  Value input = c.input(0, Accepts::Numbers);
  c.result(c.map({input}, [&](ScalarMath &m, ValueRange x) {
    Value number = isa<FloatType>(x[0].getType()) ? x[0] : m.convert(x[0], c.builder.getF64Type());
    Value isAbove = m.compare(ScalarMath::Compare::Greater, number, m.number(number, threshold));
    return m.select(isAbove, m.number(x[0], 1), m.number(x[0], 0));
  }));
}

/// Elements that equal a given one, which may be NaN, are replaced.
static void importImputer(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  Type type = c.type(0).getElementType();
  if (isa<FloatType>(type)) {
    if (!c.node.find("imputed_value_floats"))
      c.fail(ErrorKind::InvalidModel, "attribute 'imputed_value_floats' is missing");
    Value values = perFeature(c, "imputed_value_floats", 0, input);
    double replaced = c.node.getFloat("replaced_value_float", 0);
    return c.result(c.map({input, values}, [&](ScalarMath &m, ValueRange x) {
      Value isMissing = std::isnan(replaced)
                            ? m.op<arith::CmpFOp>(arith::CmpFPredicate::UNO, x[0], x[0])
                            : m.compare(ScalarMath::Compare::Equal, x[0], m.number(x[0], replaced));
      return m.select(isMissing, x[1], x[0]);
    }));
  }
  std::vector<int64_t> numbers = c.node.getInts("imputed_value_int64s");
  if (numbers.empty())
    c.fail(ErrorKind::InvalidModel, "attribute 'imputed_value_int64s' is missing");
  if (numbers.size() > 1)
    input = withFeatures(c, input, numbers.size());
  Type wide = c.builder.getI64Type();
  int64_t replaced = c.node.getInt("replaced_value_int64", 0);
  Value result =
      c.map({c.cast(input, wide), integerConstant(c, numbers)}, [&](ScalarMath &m, ValueRange x) {
        Value missing = m.op<arith::ConstantOp>(c.builder.getI64IntegerAttr(replaced));
        return m.select(m.compare(ScalarMath::Compare::Equal, x[0], missing), x[1], x[0]);
      });
  c.result(c.cast(result, type));
}

/// A further axis with 1 if the category is. Strings are encoded on the host.
static void importOneHotEncoder(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  std::vector<int64_t> categories = c.node.getInts("cats_int64s");
  if (categories.empty())
    c.fail(ErrorKind::InvalidModel,
           "expected categories in 'cats_int64s' for numeric inputs, got none");
  Value names = integerConstant(c, categories);
  SymbolicShape domain = c.shape(0);
  auto rank = static_cast<unsigned>(domain.size());
  AffineExpr count = c.dim(categories.size());
  domain.push_back(count);
  Compute lookup{domain,
                 1,
                 hr::ReduceKind::Min,
                 {{input, dimensions(c, 0, rank)}, {names, dimensions(c, rank, rank + 1)}},
                 {}};
  Value place = writeCompute(c, lookup, [&](PointMath &m) {
    Value isHere = m.equal(m.toInteger(m.read(0)), m.read(1));
    Value nowhere = m.size(count);
    return m.select(m.isNaN(m.read(0)), nowhere, m.select(isHere, m.position(rank), nowhere));
  });
  if (c.node.getInt("zeros", 1) == 0)
    place = c.checkedIndices(place, c.dim(0), count);
  Compute hot{domain, 0, {}, {{place, dimensions(c, 0, rank)}}, {}};
  Type type = c.builder.getF32Type();
  c.result(writeCompute(c, hot, [&](PointMath &m) {
    return m.select(m.equal(m.read(0), m.position(rank)), m.numberOf(type, 1), m.numberOf(type, 0));
  }));
}

static void importFeatureVectorizer(NodeContext &c) {
  std::vector<int64_t> widths = c.node.getInts("inputdimensions");
  if (!widths.empty())
    checkLength(c, "inputdimensions", widths.size(), c.inputCount());
  SmallVector<Value> parts;
  for (size_t i = 0; i < std::max<size_t>(c.inputCount(), 1); ++i) {
    Value part = c.cast(c.input(i, Accepts::Numbers), c.builder.getF32Type());
    if (c.rank(i) == 1)
      part = c.reshape(part, {c.dim(1), c.shape(i)[0]});
    else
      c.checkRank(i, 2);
    parts.push_back(widths.empty() ? part : withFeatures(c, part, widths[i], i));
  }
  c.result(parts.size() == 1 ? parts[0] : concat(c, parts, 1));
}

/// Columns of a table; a list is one row of it.
static void importArrayFeatureExtractor(NodeContext &c) {
  Value input = c.input(0);
  SymbolicShape shape = c.shape(0);
  if (shape.empty())
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected an axis, got a scalar", c.nameOfInput(0));
  if (shape.size() == 1) {
    shape = {c.dim(1), shape[0]};
    input = c.reshape(input, shape);
  }
  Value columns = c.reshape(indices(c, 1), {c.product(c.shape(1))});
  auto last = static_cast<int64_t>(shape.size()) - 1;
  c.result(c.infer<hr::GatherOp>(input, c.checkedIndices(columns, c.dim(0), shape.back()), last));
}

OperatorFamily featureOperators() {
  static const Operator table[] = {
      {"Scaler", 1, importScaler},
      {"Normalizer", 1, importNormalizer},
      {"Binarizer", 1, importBinarizer},
      {"Imputer", 1, importImputer},
      {"OneHotEncoder", 1, importOneHotEncoder},
      {"FeatureVectorizer", 1, importFeatureVectorizer},
      {"ArrayFeatureExtractor", 1, importArrayFeatureExtractor},
  };
  return table;
}

} // namespace headrace::onnx
