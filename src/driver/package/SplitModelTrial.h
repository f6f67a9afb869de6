// Trial runs of a split model with samples: they show which regions to compile ahead of time.
#pragma once

#include "driver/LevelOneProgram.h"
#include "driver/split/SplitProgram.h"
#include "package/Contents.h"

namespace headrace {

struct TriedSplitModel {
  PackagedSplitModel model;              ///< its regions have no programs yet
  std::vector<LevelOneProgram> programs; ///< of the regions, in order
  std::vector<std::string> notes;        ///< on dynamic dimensions whose extents are restricted
};

/// Runs the model with each sample until no further region is made: from the second sample on,
/// sizes and shapes that differ stay dynamic. `fixed` are dynamic dimensions that have a value once
/// and for all. Throws Error if a run fails, or an input or output is not a numeric tensor. The
/// model must live as long as the result.
TriedSplitModel trySplitModel(split::SplitProgram &model, std::string name,
                              std::span<const std::vector<RuntimeValue>> samples,
                              const std::map<std::string, int64_t> &fixed);

/// Samples of random numbers, each with other values of the dynamic dimensions than those before.
std::vector<std::vector<RuntimeValue>> randomSamples(const split::SplitProgram &model,
                                                     const std::map<std::string, int64_t> &fixed);

} // namespace headrace
