// Implementations as a Pareto plot: off-chip volume against makespan.
#pragma once

#include "explore/search/Exploration.h"

namespace headrace::explore {

/// An SVG with a circle for each outcome, its area growing with the buffers and its colour that of
/// the number of processing elements. Outcomes that no other beats are filled, and a line joins
/// those that no other beats in off-chip volume and makespan alone. Both axes are logarithmic.
std::string paretoSvg(const std::vector<Outcome> &outcomes, const std::string &title);

} // namespace headrace::explore
