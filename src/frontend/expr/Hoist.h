// A stage as the importer sees it: one expression, reduced along axes or not. Reductions that
// stand inside other expressions become stages of their own.
#pragma once

#include "frontend/expr/Stage.h"

namespace headrace::expr {

struct FlatStage {
  std::shared_ptr<const StageInfo> info;
  std::string name;
  /// Null if nothing is reduced.
  std::shared_ptr<const Reduction> reduction;
  /// The value at a point, free of reductions; a tuple if tuples are reduced.
  Expr value;
  /// The component of the tuple that is the stage's result.
  size_t component = 0;
};

/// The stage, preceded by those made of reductions inside it, which are named after it. Throws
/// Error if an axis is used outside its reduction.
std::vector<FlatStage> flattened(const std::shared_ptr<const StageInfo> &stage,
                                 const std::string &name);

} // namespace headrace::expr
