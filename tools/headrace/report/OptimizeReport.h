// What guided optimization lists and has done, as tables.
#pragma once

#include "optimize/Blame.h"
#include "optimize/Measure.h"
#include "optimize/Optimizer.h"

namespace headrace::cli {

/// The legal ones and what each would change, then the refused ones and why; at most `most` of each.
void printTransformations(const std::vector<optimize::Transformation> &all, size_t most);
void printHistory(const optimize::Optimizer &optimizer);
void printMeasured(const std::vector<optimize::MeasuredChange> &changes);
void printBlame(const optimize::Blame &blame);

} // namespace headrace::cli
