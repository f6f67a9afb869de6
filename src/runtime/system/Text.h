// Text from untrusted files: checked on the way in, made harmless in messages.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

/// Whether the text is valid UTF-8.
bool isUtf8(std::string_view text);

/// For a one-line message: control characters and bytes that are not UTF-8 as \xNN, long text cut.
std::string escaped(std::string_view text);

/// Like `escaped`, in single quotes.
std::string inQuotes(std::string_view text);

} // namespace headrace
