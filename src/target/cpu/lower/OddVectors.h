// Vectors whose length is not a power of two, such as the six features of a small network, in
// LLVM's IR: inside a basic block the code generator widens them, between blocks it takes them
// apart.
#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace headrace {

/// Tiles of them are handed from block to block as one value per vector.
void splitTiles(llvm::Function &function);

/// Computes with them, and hands them from block to block, at the next power of two.
void widenOddVectors(llvm::Function &function);

/// Loads them at the next power of two, leaving out what is too much: one instruction for three.
/// For CPUs whose loads can do that.
void loadUnderMasks(llvm::Function &function);

} // namespace headrace
