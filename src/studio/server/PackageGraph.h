// The kernels of a package as a graph: a package holds compiled code, and has no phases.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace headrace::studio {

/// The document of `headrace explain --to=schedule --json`, from the report of `headrace explain
/// --json`. A line leads from the kernel that writes a buffer to the last one that reads it.
nlohmann::ordered_json graphOfKernels(const nlohmann::ordered_json &report);

} // namespace headrace::studio
