// Vectors longer than a register whose length is no power of two, such as a tile's row of 40
// floats, in LLVM's IR. The code generator pads them to the next power of two, and takes some of
// them apart into single elements.
#pragma once

#include <cstdint>

namespace llvm {
class Function;
} // namespace llvm

namespace headrace {

/// Makes each of them whole registers of so many bytes and a rest.
void splitLongVectors(llvm::Function &function, int64_t vectorBytes);

} // namespace headrace
