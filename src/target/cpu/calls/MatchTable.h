// Functions of one byte that end in a byte, as tables.
#pragma once

#include "dialect/Hr.h"

#include <optional>
#include <vector>

namespace headrace {

struct MatchedTable {
  std::vector<uint8_t> table;
  mlir::Value result;
  llvm::SmallVector<hr::MapOp> maps; // that compute it, in order
};

/// The maps behind bytes that are functions of them alone and end in bytes, as far as nobody else
/// reads what is in between. The table holds what the reference evaluation says.
std::optional<MatchedTable> matchTable(mlir::Value bytes);

} // namespace headrace
