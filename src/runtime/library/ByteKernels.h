// The innermost loops of products of 8-bit integers, and the order in which they read.
#pragma once

#include <array>
#include <cstdint>

namespace headrace::bytes {

/// Columns of the second operand are in panels of 16, four consecutive rows of a column next to
/// each other: [row / 4][column][row % 4]. One step of a kernel is four rows.
inline constexpr int64_t panelColumns = 16, stepRows = 4, stepBytes = panelColumns * stepRows;
/// Most rows of the first operand, and panels, that a kernel has in registers.
inline constexpr int64_t maxRows = 6, maxPanels = 4;

/// Accumulates `steps` steps for some rows and panels.
struct Tile {
  std::array<const uint8_t *, maxRows> rows; // each row's numbers, as the kernel's kind wants them
  const int32_t *offsets; // of the four numbers of each step, in bytes from there
  const uint8_t *b;
  int64_t panelStride; // bytes from one panel to the next
  int64_t steps;
  int32_t *c;
  int64_t ldc;
  int64_t columns;      // of the last panel that are stored
  const int32_t *start; // of each column; null: what the result holds already
};
using Kernel = void (*)(const Tile &tile);

/// Instructions that CPUs have for it.
enum class Kind {
  DotProducts, // vpdpbusd: bytes of one operand unsigned, of the other signed
  WidePairs,   // vpmaddwd on 512 bits: both widened to 16 bits
  Pairs,       // vpmaddwd on 256 bits
  Plain        // any CPU
};
/// The best that this CPU has.
Kind bestKind();
bool hasKind(Kind kind);
/// Whether it has 512-bit vectors for bytes and floats.
bool hasWideVectors();

/// Widens a row's bytes to 16 bits for kernels that take them so: four, then on to the next step,
/// `stepNumbers` further. For CPUs with pairs.
void widenRow(const uint8_t *row, int64_t steps, int64_t stepNumbers, bool isUnsigned, int16_t *to);

/// Whether the first operand is given in 16 bits.
constexpr bool widensFirst(Kind kind) { return kind != Kind::DotProducts; }

/// The kernel for this many rows and panels, the last of which has `columns` columns.
/// `secondIsUnsigned`: the second operand's bytes are; dot products take the first's as signed
/// then, and the other way round. `flips`: they first move the first's by 128, from one to the
/// other.
Kernel kernelFor(Kind kind, bool secondIsUnsigned, bool flips, int64_t rows, int64_t panels,
                 int64_t columns);

} // namespace headrace::bytes
