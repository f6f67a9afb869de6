#include "runtime/library/BytePatches.h"

#include <algorithm>
#include <cstring>

namespace headrace {

namespace {

/// Short runs, mostly: a call of memcpy for each would take longer than the bytes do.
inline void copyRun(uint8_t *to, const uint8_t *from, int64_t bytes) {
  auto copyEnds = [&]<class Word>(Word) {
    // The last word overlaps the one before.
    for (int64_t i = 0; i + static_cast<int64_t>(sizeof(Word)) < bytes; i += sizeof(Word))
      std::memcpy(to + i, from + i, sizeof(Word));
    int64_t last = bytes - static_cast<int64_t>(sizeof(Word));
    std::memcpy(to + last, from + last, sizeof(Word));
  };
  struct Vector {
    uint64_t words[2];
  };
  if (bytes >= 16)
    copyEnds(Vector{});
  else if (bytes >= 8)
    copyEnds(uint64_t{});
  else if (bytes >= 4)
    copyEnds(uint32_t{});
  else
    for (int64_t i = 0; i < bytes; ++i)
      to[i] = from[i];
}

/// Sizes beyond this are damaged: products of a few of them must not overflow.
constexpr int64_t maxSize = int64_t{1} << 40;

bool isSize(int64_t value, int64_t least) { return value >= least && value <= maxSize; }

} // namespace

BytePatches BytePatches::of(std::span<const int64_t> p) {
  BytePatches patches{};
  patches.channels = p[0];
  size_t next = 1;
  for (Sizes *sizes :
       {&patches.in, &patches.out, &patches.window, &patches.stride, &patches.dilation})
    for (int64_t &size : *sizes)
      size = p[next++];
  return patches;
}

std::string BytePatches::faultOf(int64_t rows, int64_t wantedDepth, int64_t bytes) const {
  auto wide = [](int64_t value) { return static_cast<__int128>(value); };
  __int128 image = channels, positions = 1, windowBytes = channels;
  if (!isSize(channels, 0) || !isSize(rows, 0))
    return "has " + std::to_string(rows) + " patches of " + std::to_string(channels) + " channels";
  for (size_t i = 0; i < rank; ++i) {
    bool areSizes = isSize(in[i], 0) && isSize(out[i], 0) && isSize(window[i], 1) &&
                    isSize(stride[i], 1) && isSize(dilation[i], 1);
    if (!areSizes ||
        (out[i] > 0 && wide(out[i] - 1) * stride[i] + wide(window[i] - 1) * dilation[i] >= in[i]))
      return "takes " + std::to_string(out[i]) + " windows of " + std::to_string(window[i]) +
             " out of " + std::to_string(in[i]);
    image *= in[i];
    positions *= out[i];
    windowBytes *= window[i];
    if (std::max({image, positions, windowBytes}) > wide(maxSize))
      return "takes windows of images of more than " + std::to_string(maxSize) + " bytes";
  }
  if (windowBytes != wantedDepth)
    return "sums over " + std::to_string(wantedDepth) + " bytes of each window, not all of them";
  if (rows == 0)
    return "";
  if (positions == 0 || rows % positions != 0 || rows / positions * image > bytes)
    return "leaves its operand 0 of " + std::to_string(bytes) + " bytes";
  return "";
}

PatchGatherer::PatchGatherer(const BytePatches &patches, const uint8_t *images, int64_t runLength)
    : patches(patches), images(images), runBytes(patches.runBytes()), runLength(runLength) {
  const auto &[channels, in, out, window, stride, dilation] = patches;
  bool isWhole = dilation[2] == 1;
  runOffsets.reserve(static_cast<size_t>(patches.runs()));
  for (int64_t z = 0; z < window[0]; ++z)
    for (int64_t y = 0; y < window[1]; ++y)
      for (int64_t x = 0; x < (isWhole ? 1 : window[2]); ++x)
        runOffsets.push_back(
            ((z * dilation[0] * in[1] + y * dilation[1]) * in[2] + x * dilation[2]) * channels);
}

PatchGatherer::Position PatchGatherer::positionOf(int64_t row) const {
  Position at;
  for (size_t i = BytePatches::rank; i-- > 0; row /= patches.out[i])
    at.place[i] = row % patches.out[i];
  at.image = row;
  return at;
}

void PatchGatherer::advance(Position &at) const {
  for (size_t i = BytePatches::rank; i-- > 0;) {
    if (++at.place[i] < patches.out[i])
      return;
    at.place[i] = 0;
  }
  ++at.image;
}

const uint8_t *PatchGatherer::firstByte(const Position &at) const {
  int64_t pixel = at.image;
  for (size_t i = 0; i < BytePatches::rank; ++i)
    pixel = pixel * patches.in[i] + at.place[i] * patches.stride[i];
  return images + pixel * patches.channels;
}

void PatchGatherer::findRows(int64_t row, int64_t rows, const uint8_t **to) const {
  if (rows == 0)
    return;
  Position at = positionOf(row);
  int64_t apart = patches.stride[2] * patches.channels;
  for (int64_t r = 0; r < rows;) {
    // The rest of a line.
    const uint8_t *next = firstByte(at);
    for (int64_t end = std::min(rows, r + patches.out[2] - at.place[2]); r < end;
         ++r, next += apart)
      to[r] = next;
    at.place[2] = patches.out[2] - 1;
    advance(at);
  }
}

void PatchGatherer::gather(int64_t row, int64_t rows, int64_t begin, int64_t end, uint8_t *to,
                           int64_t rowBytes) const {
  if (begin >= end || rows == 0)
    return;
  Position at = positionOf(row);
  for (int64_t r = 0; r < rows; ++r, to += rowBytes, advance(at)) {
    const uint8_t *from = firstByte(at);
    int64_t run = begin / runLength;
    for (int64_t next = begin; next < end; ++run) {
      int64_t skipped = next - run * runLength;
      int64_t stop = std::min(end, (run + 1) * runLength);
      int64_t own = std::clamp(runBytes - skipped, int64_t{0}, stop - next);
      if (own > 0)
        copyRun(to + next - begin, from + runOffsets[static_cast<size_t>(run)] + skipped, own);
      for (int64_t i = next + own; i < stop; ++i)
        to[i - begin] = 0;
      next = stop;
    }
  }
}

} // namespace headrace
