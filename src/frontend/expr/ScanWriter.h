// Writes a recurrence as `hr.recur`: what its steps compute from earlier ones is the body; all that
// does not depend on them is computed before, for all steps at once.
//
//   H[t, j] = max(H[t - 1, j] + A[t, j] * 2, 0)      (H before the first step is 0)
//
//   %a = hr.map(%A) { * 2 }                           for all t
//   %H = hr.recur(%a) from %0 {
//   ^bb0(%last, %now):                                a step
//     hr.compute(%last, %now) { max(+, 0) }
//   }
#pragma once

#include "frontend/expr/StageWriter.h"

namespace headrace::expr {

/// The result of the recurrence. Throws Error if a step reads what is not an earlier one.
mlir::Value writeScan(const std::shared_ptr<const StageInfo> &stage, const std::string &name,
                      OperatorBuilder &operators, Symbols &symbols, SizeTable &sizes,
                      StageValues &values);

} // namespace headrace::expr
