#include "runtime/system/Text.h"

namespace headrace {

static constexpr size_t longestShown = 200;

/// The length of the UTF-8 character `text` begins with, 0 if it begins with none.
static size_t characterLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80)
    return 1;
  size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length)
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80)
      return 0;
  bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  bool surrogate = first == 0xED && byte(1) >= 0xA0;
  bool beyondUnicode = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyondUnicode ? 0 : length;
}

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = characterLength(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string escaped(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    if (result.size() >= longestShown)
      return result + "...";
    size_t length = characterLength(text);
    auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      result += {'\\', 'x', digits[first >> 4], digits[first & 15]};
      length = 1;
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string inQuotes(std::string_view text) { return "'" + escaped(text) + "'"; }

} // namespace headrace
