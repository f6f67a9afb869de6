// Text of string tensors: UTF-8 taken apart into characters, and put together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::operators {

/// Characters, each one code point; bytes that are no UTF-8 stand for themselves.
std::wstring toCharacters(std::string_view text);
std::string toUtf8(std::wstring_view characters);

enum class Case { Lower, Upper };
/// The letter in that case; any other character as it is.
wchar_t withCase(wchar_t letter, Case wanted);
/// Letters of every script that has two cases.
std::string withCase(std::string_view text, Case wanted);

/// The parts between delimiters, at most `most` cuts (negative: any number); an empty delimiter
/// means runs of white space, which also go from both ends.
std::vector<std::string> split(std::string_view text, std::string_view delimiter, int64_t most);

} // namespace headrace::operators
