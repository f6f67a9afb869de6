// Files for reports: the part of a model that differs, with values.
#pragma once

#include "verify/Verify.h"
#include <filesystem>

namespace headrace::verify {

/// Reduces the ONNX model that the report is of to nodes that show its first difference, writes
/// them with their inputs, and notes in the report what was written, or why nothing was. `options`
/// are those of the verification. Throws Error if the file cannot be written.
void saveDifference(Report &report, const Model &model, const std::filesystem::path &path,
                    const Options &options, const std::filesystem::path &output);

/// The inputs that such a file holds: their names, for Settings::givenInputs, and values. Nothing
/// for any other file.
struct SavedInputs {
  std::vector<std::string> names;
  std::vector<RuntimeValue> values;
};
SavedInputs savedInputs(const std::filesystem::path &path);

} // namespace headrace::verify
