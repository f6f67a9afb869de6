// The constants that a compilation makes, until the compiled program owns those it reads, and those
// of an additionally imported program, during its life.
#pragma once

#include "dialect/ConstantPool.h"
#include "driver/CompilerMemory.h"

#include <memory>

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

/// Gives up constants that were made from its construction until `close`.
class ImportedConstants {
public:
  explicit ImportedConstants(std::shared_ptr<mlir::MLIRContext> given)
      : context(std::move(given)), begin(ConstantPool::of(context.get()).mark()) {}
  ImportedConstants(const ImportedConstants &) = delete;
  ImportedConstants &operator=(const ImportedConstants &) = delete;
  ~ImportedConstants() { ConstantPool::of(context.get()).release(begin, {}, end); }

  void close() { end = ConstantPool::of(context.get()).mark(); }

private:
  std::shared_ptr<mlir::MLIRContext> context;
  size_t begin, end = SIZE_MAX;
};

} // namespace headrace
