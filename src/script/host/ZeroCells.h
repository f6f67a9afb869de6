#pragma once

#include "script/host/HostOperations.h"
#include <functional>
#include <limits>
#include <span>

/// The value of an expression over a sparse matrix at the cells that the matrix does not store.
/// Only if it is 0 there can the expression be computed at the stored cells alone: 0 * NaN is NaN.
namespace headrace::script {

/// All that a value, or any cell of it, can be.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool nan = true;

  static Range of(double number);
  bool finite() const;
  bool isZero() const { return low == 0 && high == 0 && !nan; }
};

/// Whether the result, or the sum of its cells that it is, owes nothing to cells that are not
/// stored. `input` gives the range of an input of the expression, {0, 0} for the sparse matrix;
/// `symbols` are the values of those that sizes mention, if they are known.
bool keepsZeros(const Dag &expression, std::span<const int64_t> symbols,
                const std::function<Range(int input)> &input);

/// The value of ZerosKept: what was computed from stored cells alone, if it is all there is; else
/// the whole expression.
Value whereZerosStay(const Node &node, std::span<const int64_t> symbols,
                     std::vector<Value> &operands, HostContext &context);

} // namespace headrace::script
