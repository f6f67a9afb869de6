#pragma once

#include "script/host/HostOperations.h"
#include <unordered_map>

namespace headrace::script {

/// A call of a function that has no operation of its own.
struct HostCall {
  const Node &node;
  std::vector<Value> arguments; ///< empty values were not given
  HostContext &context;

  const char *name() const { return node.name.c_str(); }
  bool given(size_t i) const { return i < arguments.size() && !arguments[i].empty(); }
  const Matrix &matrix(size_t i) const { return arguments[i].expectMatrix(name()); }
  Tensor dense(size_t i) const { return arguments[i].dense(name()); }
  double number(size_t i, double otherwise) const {
    return given(i) ? arguments[i].number(name()) : otherwise;
  }
  int64_t whole(size_t i, int64_t otherwise) const {
    return given(i) ? arguments[i].whole(name()) : otherwise;
  }
  /// A number of rows or columns: fractions do not count.
  int64_t size(size_t i, int64_t otherwise) const {
    return given(i) ? arguments[i].truncated(name()) : otherwise;
  }
  bool truth(size_t i, bool otherwise) const {
    return given(i) ? arguments[i].truth(name()) : otherwise;
  }
  std::string text(size_t i, const std::string &otherwise) const {
    return given(i) ? arguments[i].text(name()) : otherwise;
  }
  /// The position of the argument of that name.
  size_t parameter(std::string_view argument) const;
  /// Rejects sizes that no matrix can have, by the function's name.
  void checkSize(double rows, double cols) const { checkMatrixSize(name(), rows, cols); }
  [[noreturn]] void fail(const std::string &message,
                         ErrorKind kind = ErrorKind::InvalidArgument) const {
    throw Error(kind, node.name + ": " + message);
  }
};

using HostFunction = Value (*)(HostCall &call);
using HostTable = std::unordered_map<std::string, HostFunction>;

/// One table per file of functions.
const HostTable &movementFunctions();   ///< index, matrix, diag, order, removeEmpty, ...
const HostTable &creationFunctions();   ///< seq, table, outer
const HostTable &randomFunctions();     ///< rand, sample
const HostTable &numericFunctions();    ///< cumsum, replace, rowIndexMax, bitwAnd, ...
const HostTable &groupFunctions();      ///< unique, countDistinct, aggregate
const HostTable &statisticsFunctions(); ///< moment, cov, cdf, qnorm, ...
const HostTable &shiftedProducts();     ///< products of X - v with a sparse X
const HostTable &linearAlgebra();       ///< solve, inv, cholesky, lu, qr, eigen, svd, det
const HostTable &orderStatistics();     ///< median, quantile, interQuartileMean
const HostTable &listFunctions();       ///< list, indices of lists, append, remove, ...
const HostTable &convolutions();        ///< conv2d and its gradients
const HostTable &neuralFunctions();     ///< max_pool, bias_add, batch_norm2d, ...
const HostTable &recurrentLayers();     ///< lstm and its gradient
const HostTable &fourierTransforms();   ///< fft, ifft, stft
const HostTable &labelledProducts();    ///< einsum
const HostTable &frameFunctions();      ///< frames: as.frame, indices, cbind, map, ...
const HostTable &schemaFunctions();     ///< detectSchema, applySchema, colnames, ...
const HostTable &transformFunctions();  ///< transformencode, transformapply, ...
const HostTable &tokenFunctions();      ///< tokenize
const HostTable &dynamicFunctions();    ///< eval, evalList, paramserv
const HostTable &systemFunctions();     ///< print, read, casts, strings

/// Rejects sizes of a matrix of which a share is stored: it may have more cells than memory, but
/// not more of them stored, and rows and columns are numbered with 31 bits.
void checkSparseSize(const HostCall &call, double rows, double cols, double share);

/// A dense copy that may be written to; the operand itself if nothing else shares its memory.
Tensor writable(Value &operand, const char *what);

} // namespace headrace::script
