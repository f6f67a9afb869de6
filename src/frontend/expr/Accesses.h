// How a stage reads its tensors. A read whose indices are linear is a map of the operand, after a
// slice if it starts somewhere inside; one that may leave its tensor under a condition reads a
// padded copy; anything else is read by index, point by point.
#pragma once

#include "frontend/expr/Conditions.h"

#include <map>

namespace headrace::expr {

/// One dimension of an operand: what the domain walks of it.
struct DimAccess {
  /// Over the domain, starting at 0.
  mlir::AffineExpr map;
  /// The part of the (padded) tensor that is walked.
  mlir::AffineExpr start, size;
  int64_t step = 1;
};

struct Access {
  std::shared_ptr<const StageInfo> tensor;
  /// Read by index: `dims` is empty.
  bool byIndex = false;
  llvm::SmallVector<DimAccess> dims;
};

/// How many elements of padding a stage needs around a tensor.
struct Padding {
  llvm::SmallVector<int64_t> low, high;
};

struct Accesses {
  /// The access of each node of the expression that reads a tensor.
  std::map<const Node *, Access> reads;
  std::map<const StageInfo *, Padding> padding;
};

/// All reads of the expression. Throws Error if one can leave its tensor with no condition that
/// prevents it; `subject` names the stage.
Accesses findAccesses(const Expr &value, const Domain &domain, SizeTable &sizes,
                      const Symbols &symbols, const std::string &subject);

} // namespace headrace::expr
