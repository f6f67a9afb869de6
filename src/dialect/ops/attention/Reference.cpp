// Reference evaluation of attention, a query at a time.
#include "dialect/reference/Reference.h"

#include "runtime/system/Interruption.h"

#include <cmath>

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

Tensor AttentionOp::evaluate(Tensors inputs, Sizes) {
  Shape queryShape = inputs[0].shape(), keyShape = inputs[1].shape();
  size_t rank = queryShape.size();
  int64_t queries = queryShape[rank - 2], keys = keyShape[rank - 2], depth = queryShape[rank - 1],
          width = inputs[2].shape()[rank - 1];
  Shape resultShape = queryShape, scoreShape = queryShape;
  resultShape.back() = width;
  scoreShape.back() = keys;
  Tensor result = Tensor::allocate(DType::F64, resultShape);
  Tensor bias = getBias() ? broadcastTo(inputs[3], scoreShape) : Tensor();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double scale = getScale().convertToDouble();
  std::vector<double> weights(keys);
  int64_t rows = product(resultShape) == 0 ? 0 : product(ArrayRef(resultShape).drop_back());
  for (int64_t row = 0; row < rows; ++row) {
    pollInterruption();
    int64_t batch = row / queries, position = row % queries;
    const double *query = inputs[0].as<double>() + row * depth;
    double maximum = -infinity;
    for (int64_t j = 0; j < keys; ++j) {
      const double *key = inputs[1].as<double>() + (batch * keys + j) * depth;
      double score = scale * std::inner_product(query, query + depth, key, 0.0);
      score += bias ? bias.as<double>()[row * keys + j] : 0.0;
      weights[j] = getCausal() && j > position ? -infinity : score;
      maximum = std::isnan(weights[j]) ? weights[j] : std::max(maximum, weights[j]);
    }
    bool isOut = getZeroMasked() && maximum == -infinity;
    double sum = 0;
    for (double &weight : weights)
      sum += weight = isOut ? 0 : std::exp(weight - maximum);
    double *out = result.as<double>() + row * width;
    std::fill_n(out, width, 0.0);
    for (int64_t j = 0; j < keys; ++j) {
      const double *value = inputs[2].as<double>() + (batch * keys + j) * width;
      for (int64_t i = 0; i < width; ++i)
        out[i] += (isOut ? 0 : weights[j] / sum) * value[i];
    }
  }
  return result;
}

} // namespace headrace::hr
