// Where rows of bytes go that are the places of images: into images with a halo.
#pragma once

#include "runtime/library/BytePatches.h"
#include "runtime/system/ThreadPool.h"

namespace headrace {

/// [image][low + place + high...], of as many bytes each as a row has.
struct BytePlaces {
  static constexpr size_t rank = BytePatches::rank;
  using Sizes = BytePatches::Sizes;
  Sizes size, low, high;
  uint8_t border;
  static constexpr size_t parameters = 3 * rank + 1; // in this order

  static BytePlaces of(std::span<const int64_t> parameters);

  /// Why rows of `bytes` bytes do not go into this many; empty if they do.
  std::string faultOf(int64_t rows, int64_t bytes, int64_t room) const;

  bool hasBorder() const;
  /// Where each row goes.
  void findRows(int64_t row, int64_t rows, int64_t bytes, uint8_t *images, uint8_t **to) const;
  void writeBorders(int64_t rows, int64_t bytes, uint8_t *images, ThreadPool &pool) const;
};

} // namespace headrace
