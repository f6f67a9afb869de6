// A program's graph with its layout, as the page reads it.
#pragma once

#include "studio/layout/ProgramLayout.h"
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace headrace::studio {

/// The document of `headrace explain --to=PHASE --json`, with edges as rows of numbers and frames.
nlohmann::ordered_json viewOf(const nlohmann::ordered_json &document, const ProgramLayout &layout);

/// JSON whose bytes are all ASCII and that holds no "<": as an answer, and within a script.
std::string inertText(const nlohmann::ordered_json &document);

} // namespace headrace::studio
