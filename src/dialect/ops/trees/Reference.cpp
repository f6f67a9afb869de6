// Reference evaluation of forests: one walk after the other.
#include "dialect/reference/Reference.h"

#include "dialect/ops/trees/Trees.h"
#include "runtime/system/Interruption.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

namespace {

class Walker {
public:
  Walker(ForestOp op, Tensors inputs)
      : bits(static_cast<int>(op.getFeatureBits())), treatsNaN(op.getTreatsNan()),
        isDouble(inputs[3].shape().size() == 2), words(inputs[3].as<int64_t>()) {}

  /// The place of a leaf, or any if the walk takes more steps than it may.
  int64_t leafOf(const double *features, int64_t root, int64_t depth) const {
    int64_t place = root + 1;
    for (int64_t i = 0; i < depth; ++i) {
      auto [threshold, way] = node(place);
      double value = features[way & ((uint64_t(1) << bits) - 1)];
      bool isFirst = value <= threshold || (treatsNaN && std::isnan(value) && (way >> bits & 1));
      place = root + static_cast<int64_t>(way >> (bits + treatsNaN)) + !isFirst;
    }
    return place;
  }

private:
  struct Node {
    double threshold;
    uint64_t way;
  };

  Node node(int64_t place) const {
    if (isDouble)
      return {std::bit_cast<double>(words[2 * place]), static_cast<uint64_t>(words[2 * place + 1])};
    auto word = static_cast<uint64_t>(words[place]);
    return {std::bit_cast<float>(static_cast<uint32_t>(word)), word >> 32};
  }

  int bits;
  bool treatsNaN, isDouble;
  const int64_t *words;
};

double combined(ReduceKind kind, double a, double b) {
  if (kind == ReduceKind::Sum)
    return a + b;
  return kind == ReduceKind::Min ? std::min(a, b) : std::max(a, b);
}

} // namespace

Tensor ForestOp::evaluate(Tensors inputs, reference::Sizes symbols) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Tensor result = allocateResult(getResult(), symbols);
  Walker walker(*this, inputs);
  int64_t rows = inputs[0].shape()[0], features = inputs[0].shape()[1],
          trees = inputs[1].elements(), targets = result.shape()[1];
  const int64_t *roots = inputs[1].as<int64_t>(), *depths = inputs[2].as<int64_t>(),
                *leaves = inputs[4].as<int64_t>();
  const double *weights = inputs[5].as<double>();
  double none = getKind() == ReduceKind::Sum   ? 0
                : getKind() == ReduceKind::Min ? kInfinity
                                               : -kInfinity;
  for (int64_t row = 0; row < rows; ++row) {
    pollInterruption();
    double *to = result.as<double>() + row * targets;
    std::fill(to, to + targets, none);
    for (int64_t tree = 0; tree < trees; ++tree) {
      int64_t leaf =
          leaves[walker.leafOf(inputs[0].as<double>() + row * features, roots[tree], depths[tree])];
      for (int64_t target = 0; target < targets; ++target)
        to[target] = combined(getKind(), to[target], weights[leaf * targets + target]);
    }
  }
  return result;
}

} // namespace headrace::hr
