// Vectors longer than a register whose length is not a power of two, such as a tile's row of 40
// floats, in LLVM's IR. The code generator pads them to the next power of two, and takes some of
// them apart into single elements.
#pragma once

#include <cstdint>

namespace llvm {
class Function;
} // namespace llvm

namespace headrace {

/// Splits each of them into whole registers of `vectorBytes` bytes and a remainder.
void splitLongVectors(llvm::Function &function, int64_t vectorBytes);

} // namespace headrace
