// Steps of a recipe as a session collects them: a later step about the same thing takes the place
// of an earlier one, so that the recipe never contradicts itself.
#pragma once

#include <string>
#include <vector>

namespace headrace::studio {

/// What the step decides: equal for `fuse relu1 into conv1` and `separate relu1`.
std::string subjectOf(const std::string &step);

/// The recipe with the step in the place of earlier ones with its subject. A step is one line, or
/// the line of a kernel and the indented ones below it.
std::string withStep(const std::string &recipe, const std::string &step);

/// The steps of a recipe, without comments and blank lines.
std::vector<std::string> stepsOf(const std::string &recipe);

} // namespace headrace::studio
