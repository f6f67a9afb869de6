// Inputs for a model that nobody knows: as small as its declarations allow.
#pragma once

#include "driver/Model.h"

#include <optional>

namespace headrace {

/// One value for each input. Nothing if one must be large, or is of a type without values here.
std::optional<std::vector<RuntimeValue>> tinyInputs(const std::vector<ValueSpec> &specs);

} // namespace headrace
