// Common parts of the attention operators of several domains: heads apart, masks as additions to
// scores, groups of query heads that share a head of keys, and the product itself.
#pragma once

#include "frontend/onnx/import/ops/Composing.h"

namespace headrace::onnx {

/// Far beyond any model; keeps products of these numbers from overflowing.
inline constexpr int64_t kMaxHeads = int64_t(1) << 20;

/// Which keys a query may see, by position: query i stands at `offset` + i. A window of -1 is open.
struct KeyWindow {
  bool isCausal = false;
  int64_t left = -1, right = -1;
  /// Null: the queries begin with the keys. One number, or one for each of the batch
  /// ([batch, 1, 1, 1]).
  mlir::Value offset;
  /// Null or how many keys there are for each of the batch ([batch, 1, 1, 1]).
  mlir::Value keyCount;

  bool isOpen() const { return !isCausal && left < 0 && right < 0 && !keyCount; }
};

/// softmax(cap(scale * query * key^T) + bias) * value. Queries are [batch, heads, length, depth];
/// keys and values have as many heads, or fewer that divide them.
struct AttentionParts {
  mlir::Value query, key, value;
  /// The mask of keys that are seen (booleans), and the bias of scores; both may be null
  /// and broadcast to [batch, heads, queries, keys].
  mlir::Value allowed = {}, bias = {};
  KeyWindow window = {};
  double scale = 1, softcap = 0;
  /// Null: the queries' type.
  mlir::Type softmaxType;
  /// Applied to scores before, and to weights after the softmax.
  std::function<mlir::Value(mlir::Value)> changeScores, changeWeights;
};

struct AttentionSteps {
  mlir::Value scores, capped, biased, weights; // of [batch, heads, queries, keys]
  mlir::Value result;                          // as the queries, with the values' depth
};

/// The result alone: the operator that has fast forms if it can say it.
mlir::Value attention(NodeContext &c, AttentionParts parts);

/// All steps apart, for nodes that have them as outputs.
AttentionSteps attentionInSteps(NodeContext &c, AttentionParts parts);

/// [batch, length, heads * depth] as [batch, heads, length, depth], and back.
mlir::Value apartHeads(NodeContext &c, mlir::Value x, int64_t heads, const char *what);
mlir::Value joinHeads(NodeContext &c, mlir::Value x);

/// The constant number of heads of a tensor [batch, heads, length, depth].
int64_t headsOf(NodeContext &c, mlir::Value x);

/// The float that attribute `softmax_precision` names; null if it is absent.
mlir::Type softmaxPrecision(NodeContext &c);

/// A tensor that broadcasts to [batch, heads, queries, keys], with all four dimensions.
mlir::Value inFourDims(NodeContext &c, mlir::Value mask);

/// 1 / sqrt(depth).
double defaultScale(NodeContext &c, mlir::Value query);

} // namespace headrace::onnx
