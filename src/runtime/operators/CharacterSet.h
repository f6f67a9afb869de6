// Sets of characters, as regular expressions name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::operators {

inline constexpr uint32_t kLastCharacter = 0x10ffff;

/// Ranges of characters, both ends included.
using CharacterSet = std::vector<std::pair<uint32_t, uint32_t>>;

// As RE2 has them: of ASCII.
extern const CharacterSet kDigits, kSpace, kWord;
/// "alpha", "digit" and the others of POSIX; nullopt if there is no set of that name.
std::optional<CharacterSet> namedSet(std::wstring_view name);

/// The ranges in increasing order, none of which touch.
CharacterSet ordered(CharacterSet set);
CharacterSet complement(const CharacterSet &set);
void append(CharacterSet &set, const CharacterSet &more);
/// Letters of both cases for each letter of either; long ranges gain those of ASCII alone.
CharacterSet inBothCases(const CharacterSet &set);

/// Whether an ordered set has the character.
bool contains(const CharacterSet &set, uint32_t character);
bool isWordCharacter(uint32_t character);

} // namespace headrace::operators
