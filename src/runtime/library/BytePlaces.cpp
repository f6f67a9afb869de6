#include "runtime/library/BytePlaces.h"

#include <algorithm>
#include <cstring>

namespace headrace {

BytePlaces BytePlaces::of(std::span<const int64_t> p) {
  BytePlaces places{};
  size_t next = 0;
  for (Sizes *sizes : {&places.size, &places.low, &places.high})
    for (int64_t &size : *sizes)
      size = p[next++];
  places.border = static_cast<uint8_t>(p[next]);
  return places;
}

bool BytePlaces::hasBorder() const {
  auto isNone = [](int64_t pad) { return pad == 0; };
  return !std::ranges::all_of(low, isNone) || !std::ranges::all_of(high, isNone);
}

std::string BytePlaces::faultOf(int64_t rows, int64_t bytes, int64_t room) const {
  // Sizes beyond this are damaged: products of a few of them must not overflow.
  constexpr int64_t maxSize = int64_t{1} << 40;
  auto isSize = [](int64_t value) { return value >= 0 && value <= maxSize; };
  __int128 positions = 1, whole = bytes;
  for (size_t i = 0; i < rank; ++i) {
    bool areSizes = isSize(size[i]) && isSize(low[i]) && isSize(high[i]);
    if (areSizes) {
      positions *= size[i];
      whole *= static_cast<__int128>(low[i]) + size[i] + high[i];
    }
    if (!areSizes || std::max(positions, whole) > maxSize)
      return "writes to images of a negative or excessive size";
  }
  if (rows == 0)
    return "";
  if (positions == 0 || rows % positions != 0)
    return "has " + std::to_string(rows) + " rows, which do not make whole images";
  if (rows / positions * whole > room)
    return "leaves its result of " + std::to_string(room) + " bytes";
  return "";
}

void BytePlaces::findRows(int64_t row, int64_t rows, int64_t bytes, uint8_t *images,
                          uint8_t **to) const {
  if (!hasBorder()) {
    for (int64_t r = 0; r < rows; ++r)
      to[r] = images + (row + r) * bytes;
    return;
  }
  Sizes at;
  int64_t image = row;
  for (size_t i = rank; i-- > 0; image /= size[i])
    at[i] = image % size[i];
  for (int64_t r = 0; r < rows;) {
    int64_t place = image;
    for (size_t i = 0; i < rank; ++i)
      place = place * (low[i] + size[i] + high[i]) + low[i] + at[i];
    // The rest of a line.
    uint8_t *next = images + place * bytes;
    for (int64_t end = std::min(rows, r + size[2] - at[2]); r < end; ++r, next += bytes)
      to[r] = next;
    at[2] = 0;
    if (++at[1] == size[1]) {
      at[1] = 0;
      if (++at[0] == size[0]) {
        at[0] = 0;
        ++image;
      }
    }
  }
}

void BytePlaces::writeBorders(int64_t rows, int64_t bytes, uint8_t *images,
                              ThreadPool &pool) const {
  if (!hasBorder())
    return;
  Sizes whole;
  for (size_t i = 0; i < rank; ++i)
    whole[i] = low[i] + size[i] + high[i];
  int64_t lines = rows / (size[0] * size[1] * size[2]) * whole[0] * whole[1];
  int64_t lineBytes = whole[2] * bytes;
  auto isInside = [&](int64_t at, size_t i) { return at >= low[i] && at < low[i] + size[i]; };
  auto write = [&](int64_t line) {
    uint8_t *first = images + line * lineBytes;
    auto fill = [&](int64_t place, int64_t places) {
      std::memset(first + place * bytes, border, static_cast<size_t>(places * bytes));
    };
    if (!isInside(line % whole[1], 1) || !isInside(line / whole[1] % whole[0], 0))
      return fill(0, whole[2]);
    fill(0, low[2]);
    fill(low[2] + size[2], high[2]);
  };
  constexpr int64_t worthSharing = 1 << 16;
  pool.parallelFor(lines, worthSharing / std::max<int64_t>(lineBytes, 1) + 1,
                   [&](int64_t begin, int64_t end, int) {
                     for (int64_t line = begin; line < end; ++line)
                       write(line);
                   });
}

} // namespace headrace
