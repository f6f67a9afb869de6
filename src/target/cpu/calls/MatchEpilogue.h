// The operations behind an int8 matmul, as the finish that its routine can take along.
#pragma once

#include "dialect/Hr.h"
#include "runtime/library/Int8Epilogue.h"

#include <optional>

namespace headrace {

struct MatchedFinish {
  Int8Epilogue finish;
  mlir::Value result; // bytes
  mlir::Value other;  // null if it adds none
  llvm::SmallVector<hr::MapOp> maps;
};

/// The maps behind the 32-bit sums, as far as they end in bytes and nobody else reads what is in
/// between; nothing if they compute what no finish does.
std::optional<MatchedFinish> matchFinish(mlir::Value sums);

} // namespace headrace
