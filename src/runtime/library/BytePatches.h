// The rows of the matrix that a convolution multiplies by its filter: one row for each position of
// the window, with what the window has in it. They are gathered as the product needs them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// An image of bytes, channels last, and the window that goes over it: [image][in...][channels].
/// Images of fewer dimensions have leading ones of size 1.
struct BytePatches {
  static constexpr size_t rank = 3;
  using Sizes = std::array<int64_t, rank>;
  int64_t channels;
  Sizes in, out, window, stride, dilation;           // `out`: positions of the window
  static constexpr size_t parameters = 1 + 5 * rank; // in this order

  static BytePatches of(std::span<const int64_t> parameters);

  /// The innermost row of a window is in one piece, if nothing is left out of it: a run of
  /// bytes that are adjacent in the image as in the row.
  int64_t runBytes() const { return channels * (dilation[2] == 1 ? window[2] : 1); }
  int64_t runs() const { return window[0] * window[1] * (dilation[2] == 1 ? 1 : window[2]); }
  int64_t imageBytes() const { return in[0] * in[1] * in[2] * channels; }

  /// Why `rows` rows of `depth` bytes do not belong to an image of `bytes` bytes; empty if they do.
  std::string faultOf(int64_t rows, int64_t depth, int64_t bytes) const;
};

/// Some of the bytes of each row. Each run of a row takes `runLength` bytes of it, its own and
/// zeros.
class PatchGatherer {
public:
  PatchGatherer(const BytePatches &patches, const uint8_t *images, int64_t runLength);

  /// The bytes [begin, end) of rows, each `rowBytes` after the one before.
  void gather(int64_t row, int64_t rows, int64_t begin, int64_t end, uint8_t *to,
              int64_t rowBytes) const;

  /// The first byte of each row in the image.
  void findRows(int64_t row, int64_t rows, const uint8_t **to) const;
  /// The offset of each run of a row from the row's first byte.
  const std::vector<int64_t> &offsets() const { return runOffsets; }

private:
  /// A row's image and window in it.
  struct Position {
    int64_t image;
    BytePatches::Sizes place;
  };
  Position positionOf(int64_t row) const;
  void advance(Position &at) const;
  const uint8_t *firstByte(const Position &at) const;

  BytePatches patches;
  const uint8_t *images;
  int64_t runBytes, runLength;
  std::vector<int64_t> runOffsets;
};

} // namespace headrace
