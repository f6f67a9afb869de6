// Quantities, shapes and names as people read them.
#pragma once

#include "runtime/program/Program.h"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace headrace::cli {

/// The text without control characters: names come from files of others, and may hold escapes.
std::string printable(std::string_view text);

/// Three digits and a decimal prefix: "1.23 MB", "57.0 k".
std::string withPrefix(double value, std::string_view unit);

/// "12.3 us", "1.23 ms" or "4.56 s".
std::string duration(double microseconds);

/// "f32 batch x 1 x 8 x 8".
std::string specText(const TensorSpec &spec, std::span<const std::string> symbols);

/// "f32 4x1x8x8"; a scalar is "f32 scalar".
std::string typeText(const Tensor &tensor);

/// The first names, and how many more: "Conv_0, Relu_1 (+3)".
std::string shortList(std::span<const std::string> names);

/// Indented JSON; bytes that are not UTF-8 are replaced.
std::string jsonText(const nlohmann::ordered_json &document);

/// "'a', 'b' and 'c'"; "none" for no names.
std::string quotedList(std::span<const std::string> names);

} // namespace headrace::cli
