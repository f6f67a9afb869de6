#include "runtime/operators/Characters.h"

#include <bit>
#include <clocale>
#include <cwctype>
#include <locale.h>

namespace headrace::operators {

static_assert(sizeof(wchar_t) == 4, "a wide character holds a code point");

std::wstring toCharacters(std::string_view text) {
  std::wstring result;
  for (size_t i = 0; i < text.size();) {
    auto byte = static_cast<unsigned char>(text[i]);
    int more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
    if (more == 0 || i + more >= text.size()) {
      result += static_cast<wchar_t>(byte);
      ++i;
      continue;
    }
    uint32_t point = byte & (0x3f >> more);
    for (int k = 1; k <= more; ++k)
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    result += static_cast<wchar_t>(point);
    i += more + 1;
  }
  return result;
}

std::string toUtf8(std::wstring_view characters) {
  std::string result;
  for (wchar_t character : characters) {
    auto point = std::bit_cast<uint32_t>(character);
    int more = point >= 0x10000 ? 3 : point >= 0x800 ? 2 : point >= 0x80 ? 1 : 0;
    if (more == 0) {
      result += static_cast<char>(point);
      continue;
    }
    result += static_cast<char>((0xf00 >> (more + 1) & 0xff) | point >> (6 * more));
    for (int k = more - 1; k >= 0; --k)
      result += static_cast<char>(0x80 | (point >> (6 * k) & 0x3f));
  }
  return result;
}

wchar_t withCase(wchar_t letter, Case wanted) {
  // Without that locale letters of other scripts stay as they are.
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  auto given = std::bit_cast<wint_t>(letter);
  bool isLower = wanted == Case::Lower;
  if (locale)
    given = isLower ? towlower_l(given, locale) : towupper_l(given, locale);
  else
    given = isLower ? std::towlower(given) : std::towupper(given);
  return static_cast<wchar_t>(given);
}

std::string withCase(std::string_view text, Case wanted) {
  std::wstring characters = toCharacters(text);
  for (wchar_t &character : characters)
    character = withCase(character, wanted);
  return toUtf8(characters);
}

static std::vector<std::string> splitAtSpace(std::string_view text, int64_t most) {
  constexpr std::string_view space = " \t\n\r\f\v";
  std::vector<std::string> parts;
  for (size_t begin = text.find_first_not_of(space); begin != text.npos;) {
    text.remove_prefix(begin);
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.emplace_back(text);
      break;
    }
    size_t end = std::min(text.find_first_of(space), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    begin = text.find_first_not_of(space);
  }
  return parts;
}

std::vector<std::string> split(std::string_view text, std::string_view delimiter, int64_t most) {
  if (delimiter.empty())
    return splitAtSpace(text, most);
  std::vector<std::string> parts;
  for (size_t end = text.find(delimiter);
       end != text.npos && (most < 0 || static_cast<int64_t>(parts.size()) < most);
       end = text.find(delimiter)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.emplace_back(text);
  return parts;
}

} // namespace headrace::operators
