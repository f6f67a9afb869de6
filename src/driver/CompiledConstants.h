// The constants that a compilation makes, until the program that was compiled owns those it reads.
#pragma once

#include "dialect/ConstantPool.h"
#include "runtime/system/AlignedMemory.h"

namespace headrace {

/// Gives up constants that were made during its lifetime.
class CompiledConstants {
public:
  explicit CompiledConstants(mlir::MLIRContext *context)
      : pool(ConstantPool::of(context)), before(pool.mark()) {}
  CompiledConstants(const CompiledConstants &) = delete;
  CompiledConstants &operator=(const CompiledConstants &) = delete;
  ~CompiledConstants() {
    constexpr size_t kWorthReturning = 16 << 20; // to the system, which takes milliseconds
    if (pool.release(before, {}) > kWorthReturning)
      returnKeptMemory();
  }

private:
  ConstantPool &pool;
  size_t before;
};

} // namespace headrace
