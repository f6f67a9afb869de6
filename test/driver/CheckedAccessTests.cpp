// Generated code in a build with the address sanitizer.
#include "runtime/system/Sanitized.h"

#include "CompiledProgram.h"
#include <cstdlib>

using namespace mlir;

namespace headrace {
namespace {

class CheckedAccesses : public testing::Test {
protected:
  void SetUp() override {
    if (!checksAccesses)
      GTEST_SKIP() << "only where accesses are checked (./dev test-asan)";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

/// A tensor that claims more elements than its memory holds.
Tensor shortTensor(int64_t claimed, int64_t held) {
  std::shared_ptr<void> memory(std::calloc(static_cast<size_t>(held), sizeof(float)), std::free);
  return Tensor::borrow(DType::F32, {claimed}, memory.get(), memory);
}

TEST_F(CheckedAccesses, AKernelThatReadsBehindABufferIsReported) {
  for (int64_t size : {64, 61}) {
    CompiledProgram p;
    p.output(p.exp(p.input({size})));
    p.run({shortTensor(size, size)});
    EXPECT_DEATH(p.run({shortTensor(size, size - 1)}), "heap-buffer-overflow");
  }
}

/// A dynamic dimension takes the path of loops that end with single elements.
TEST_F(CheckedAccesses, AKernelOfAnOpenSizeIsReported) {
  CompiledProgram p;
  p.output(p.exp(p.symbolicInput({p.symbol("n")})));
  p.run({shortTensor(61, 61)}, {61});
  EXPECT_DEATH(p.run({shortTensor(61, 60)}, {61}), "heap-buffer-overflow");
}

} // namespace
} // namespace headrace
