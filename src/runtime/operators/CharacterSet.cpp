#include "runtime/operators/CharacterSet.h"

#include "runtime/operators/Characters.h"

#include <algorithm>

namespace headrace::operators {

bool contains(const CharacterSet &set, uint32_t character) {
  auto after = std::upper_bound(set.begin(), set.end(), character,
                                [](uint32_t c, const auto &range) { return c < range.first; });
  return after != set.begin() && character <= std::prev(after)->second;
}

const CharacterSet kDigits = {{'0', '9'}};
const CharacterSet kSpace = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
const CharacterSet kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};

bool isWordCharacter(uint32_t character) { return contains(kWord, character); }

CharacterSet ordered(CharacterSet set) {
  std::sort(set.begin(), set.end());
  CharacterSet result;
  for (auto [low, high] : set)
    if (!result.empty() && low <= result.back().second + 1)
      result.back().second = std::max(result.back().second, high);
    else
      result.emplace_back(low, high);
  return result;
}

CharacterSet complement(const CharacterSet &set) {
  CharacterSet result;
  uint32_t next = 0;
  for (auto [low, high] : ordered(set)) {
    if (next < low)
      result.emplace_back(next, low - 1);
    next = high + 1;
  }
  if (next <= kLastCharacter)
    result.emplace_back(next, kLastCharacter);
  return result;
}

void append(CharacterSet &set, const CharacterSet &more) {
  set.insert(set.end(), more.begin(), more.end());
}

CharacterSet inBothCases(const CharacterSet &set) {
  constexpr uint32_t longest = 1024;
  CharacterSet result = set;
  auto add = [&](uint32_t letter) { result.emplace_back(letter, letter); };
  for (auto [low, high] : set)
    for (uint32_t c = low; c <= std::min(high, low + longest); ++c) {
      add(static_cast<uint32_t>(withCase(static_cast<wchar_t>(c), Case::Lower)));
      add(static_cast<uint32_t>(withCase(static_cast<wchar_t>(c), Case::Upper)));
    }
  CharacterSet given = ordered(set);
  for (uint32_t c = 'a'; c <= 'z'; ++c)
    if (contains(given, c) || contains(given, c - 'a' + 'A')) {
      add(c);
      add(c - 'a' + 'A');
    }
  return ordered(result);
}

std::optional<CharacterSet> namedSet(std::wstring_view name) {
  static const std::pair<std::wstring_view, CharacterSet> sets[] = {
      {L"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {L"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {L"ascii", {{0, 127}}},
      {L"blank", {{'\t', '\t'}, {' ', ' '}}},
      {L"cntrl", {{0, 31}, {127, 127}}},
      {L"digit", kDigits},
      {L"graph", {{'!', '~'}}},
      {L"lower", {{'a', 'z'}}},
      {L"print", {{' ', '~'}}},
      {L"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {L"space", {{'\t', '\r'}, {' ', ' '}}},
      {L"upper", {{'A', 'Z'}}},
      {L"word", kWord},
      {L"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  for (const auto &[known, set] : sets)
    if (known == name)
      return set;
  return std::nullopt;
}

} // namespace headrace::operators
