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

  /// Why `rows` rows of `depth` bytes are not those of an image of so many bytes; empty where they
  /// are.
  std::string faultOf(int64_t rows, int64_t depth, int64_t bytes) const;
};

/// Some of the bytes of each row.
class PatchGatherer {
public:
  PatchGatherer(const BytePatches &patches, const uint8_t *images);

  /// The bytes [begin, end) of rows, each `rowBytes` after the one before.
  void gather(int64_t row, int64_t rows, int64_t begin, int64_t end, uint8_t *to,
              int64_t rowBytes) const;

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
  int64_t runBytes;                // that lie beside each other in the image as in the row
  std::vector<int64_t> runOffsets; // of each run of a row, from the row's first byte
};

} // namespace headrace
