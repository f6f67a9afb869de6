// Generated code in a build with the address sanitizer.
#include "runtime/Sanitized.h"

#include "CompiledProgram.h"
#include <cstdlib>

using namespace mlir;

namespace headrace {
namespace {

/// A tensor that claims more elements than its memory holds.
Tensor shortTensor(int64_t claimed, int64_t held) {
  std::shared_ptr<void> memory(std::calloc(static_cast<size_t>(held), sizeof(float)), std::free);
  return Tensor::borrow(DType::F32, {claimed}, memory.get(), memory);
}

TEST(CheckedAccesses, AKernelThatReadsBehindABufferIsReported) {
  if (!checksAccesses)
    GTEST_SKIP() << "only where accesses are checked (./dev test-asan)";
  for (int64_t size : {64, 61}) {
    CompiledProgram p;
    p.output(p.exp(p.input({size})));
    p.run({shortTensor(size, size)});
    EXPECT_DEATH(p.run({shortTensor(size, size - 1)}), "heap-buffer-overflow");
  }
}

/// An open size takes the path of loops that end with single elements.
TEST(CheckedAccesses, AKernelOfAnOpenSizeIsReported) {
  if (!checksAccesses)
    GTEST_SKIP() << "only where accesses are checked (./dev test-asan)";
  CompiledProgram p;
  p.output(p.exp(p.symbolicInput({p.symbol("n")})));
  p.run({shortTensor(61, 61)}, {61});
  EXPECT_DEATH(p.run({shortTensor(61, 60)}, {61}), "heap-buffer-overflow");
}

} // namespace
} // namespace headrace
