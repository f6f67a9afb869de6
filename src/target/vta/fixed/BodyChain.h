// A map's body interpreted over integers times powers of two, operation by operation.
#pragma once

#include "dialect/Hr.h"
#include "target/vta/fixed/Scalar.h"

namespace headrace::vta {

/// An operand of a map.
using MapOperand = std::variant<Chain, Numbers>;

/// The chain that the map makes of its operand `main`. Other chains must be stored integers, which
/// its stages read. Throws Unsupported.
Chain chainOfMap(hr::MapOp map, llvm::ArrayRef<MapOperand> operands, size_t main);

} // namespace headrace::vta
