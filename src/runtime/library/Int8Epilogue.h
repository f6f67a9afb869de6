// The end of an int8 matmul: its 32-bit sums are scaled, added to another tensor's numbers and
// rounded to bytes again, while they are in the first cache.
#pragma once

#include "runtime/library/ByteKernels.h"
#include "runtime/tensor/Tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

/// A number as a byte: x / scale to the nearest integer, ties to even, plus the zero point,
/// inside the limits.
struct ByteRounding {
  float scale = 1, zero = 0, low = -128, high = 127;
};

/// x = (sum + addend[column]) * scale[column] + bias[column]; through a byte and back; plus another
/// tensor's byte at the same place, (byte - zero) * scale; rounded to a byte; looked up in a table.
/// Clips before rounding are limits of the byte.
struct Int8Epilogue {
  enum Form : int64_t {
    Biased = 1,
    ThroughByte = 2,
    AddsOther = 4,
    OtherIsUnsigned = 8,
    LooksUp = 16,
    Multiplies = 32, // the scales of the columns are divided by that of the first byte already
    allForms = 63
  };
  /// In the record as it is in memory, in this order.
  struct Head {
    ByteRounding inner;
    float otherScale = 1, otherZero = 0;
    ByteRounding result;
    float unused[6] = {};
  };

  int64_t form = 0;
  Head head;
  std::vector<int32_t> addends;
  std::vector<float> scales, biases; // as many; biases may be missing
  std::vector<uint8_t> table;        // 256, or none

  Tensor record() const;
};

/// The record of a finish, read where it is.
class Int8EpilogueWriter {
public:
  /// `form` must be a known one, and the record must have its size for `columns` columns.
  Int8EpilogueWriter(const uint8_t *record, int64_t form, int64_t columns);
  static int64_t recordBytes(int64_t form, int64_t columns);

  /// To be added to the sums of these columns, up to the next multiple of 16.
  const int32_t *addends(int64_t column) const { return addend + column; }

  /// Rows of few columns are finished several at a time if they are adjacent.
  static int64_t rowsApart(int64_t columns) {
    return bytes::panelColumns % columns == 0 ? columns : bytes::maxPanels * bytes::panelColumns;
  }
  /// Some columns, from a multiple of 16 on, of rows of sums, each `apart` after the one before; up
  /// to the next multiple of 16 behind the last there are sums to read. `others` and `to` are each
  /// row's first bytes of those columns.
  void finish(const int32_t *sums, int64_t apart, int64_t rows, int64_t column, int64_t columns,
              const uint8_t *const *others, uint8_t *const *to) const;
  /// Like `finish`, on any CPU.
  void finishPlainly(const int32_t *sums, int64_t apart, int64_t rows, int64_t column,
                     int64_t columns, const uint8_t *const *others, uint8_t *const *to) const;

  /// The one that products of this kind take.
  void finishAs(bytes::Kind kind, const int32_t *sums, int64_t apart, int64_t rows, int64_t column,
                int64_t columns, const uint8_t *const *others, uint8_t *const *to) const {
    bool isWide = kind == bytes::Kind::DotProducts || kind == bytes::Kind::WidePairs;
    (this->*(isWide ? &Int8EpilogueWriter::finish : &Int8EpilogueWriter::finishPlainly))(
        sums, apart, rows, column, columns, others, to);
  }

  bool addsOther() const { return form & Int8Epilogue::AddsOther; }

private:
  int64_t form;
  Int8Epilogue::Head head;
  const int32_t *addend;
  const float *scale, *bias;
  const uint8_t *table;
};

/// The factor m with which `sum * m`, rounded to a byte, is what `sum * scale / result.scale` is,
/// for every 32-bit sum and all of that in f32; 0 if none was found.
float equalMultiplier(float scale, const ByteRounding &result);

} // namespace headrace
