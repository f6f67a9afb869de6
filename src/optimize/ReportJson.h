// What guided optimization lists, has done, measured and blames, as JSON.
#pragma once

#include "optimize/Blame.h"
#include "optimize/Measure.h"

#include <nlohmann/json_fwd.hpp>

namespace headrace::optimize {

nlohmann::ordered_json json(const Figures &figures);
nlohmann::ordered_json json(const Transformation &transformation);
nlohmann::ordered_json json(const std::vector<Transformation> &transformations);
nlohmann::ordered_json json(const MeasuredChange &change);
nlohmann::ordered_json json(const Blame &blame);
/// The steps done so far with what each state costs, and the place of the program in them.
nlohmann::ordered_json historyJson(const Optimizer &optimizer);

} // namespace headrace::optimize
