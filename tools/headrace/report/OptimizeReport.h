// What guided optimization lists and has done, as tables and as JSON.
#pragma once

#include "optimize/Optimizer.h"

#include <nlohmann/json_fwd.hpp>

namespace headrace::cli {

nlohmann::ordered_json figuresJson(const optimize::Figures &figures);
nlohmann::ordered_json transformationJson(const optimize::Transformation &transformation);
/// The steps done so far with what each changed, and the place of the program in them.
nlohmann::ordered_json historyJson(const optimize::Optimizer &optimizer);

/// The legal ones and what each would change, then the refused ones and why; at most `most` of each.
void printTransformations(const std::vector<optimize::Transformation> &all, size_t most);
void printHistory(const optimize::Optimizer &optimizer);

} // namespace headrace::cli
