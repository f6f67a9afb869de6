// The constants that a compilation makes, until the program that was compiled owns those it reads.
#pragma once

#include "dialect/ConstantPool.h"
#include "driver/CompilerMemory.h"

namespace headrace {

/// Gives up constants that were made during its lifetime.
class CompiledConstants {
public:
  explicit CompiledConstants(mlir::MLIRContext *context)
      : pool(ConstantPool::of(context)), before(pool.mark()) {}
  CompiledConstants(const CompiledConstants &) = delete;
  CompiledConstants &operator=(const CompiledConstants &) = delete;
  ~CompiledConstants() {
    if (pool.release(before, {}) > worthReturningMemory)
      returnCompilerMemory();
  }

private:
  ConstantPool &pool;
  size_t before;
};

} // namespace headrace
