#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <span>

namespace headrace {

/// Writes the pieces one after the other to a new file and renames it to `path`: a reader sees
/// the old file or the whole new one. Throws Error, leaving nothing behind.
void writeFileAtomically(const std::filesystem::path &path,
                         std::span<const std::span<const std::byte>> pieces);
void writeFileAtomically(const std::filesystem::path &path,
                         std::initializer_list<std::span<const std::byte>> pieces);

} // namespace headrace
