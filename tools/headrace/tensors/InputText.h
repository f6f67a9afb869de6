// Tensors written on the command line: "@x.npy", "1x3x224x224xf32=0.5", "4xf32=1,2,3,4".
#pragma once

#include "runtime/tensor/Tensor.h"
#include "runtime/value/RuntimeValue.h"

#include <string_view>

namespace headrace::cli {

/// Whether the text has the form of a tensor: a file, or a type and an equals sign.
bool looksLikeTensor(std::string_view text);

/// The tensor; `option` is what the user wrote, for messages. Throws UsageError on bad syntax,
/// Error on an unreadable file, a value out of range or a wrong number of values.
Tensor parseTensor(std::string_view text, std::string_view option);

/// The same, or strings: "2xstring=a,b".
RuntimeValue parseValue(std::string_view text, std::string_view option);

} // namespace headrace::cli
