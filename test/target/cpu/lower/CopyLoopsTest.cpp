#include "target/cpu/lower/CopyLoops.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/ExecutionEngine/OptUtils.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using namespace llvm;

/// Stores that are left after the body, which makes %v of %i, was optimized as the body of a loop
/// of 35 iterations.
size_t storesIn(const std::string &body) {
  LLVMContext context;
  SMDiagnostic error;
  std::unique_ptr<Module> code =
      parseAssemblyString("define void @f(ptr noalias %p, ptr noalias %q, <32 x float> %fixed) {\n"
                          "entry:\n  br label %loop\n"
                          "loop:\n"
                          "  %i = phi i64 [0, %entry], [%next, %loop]\n"
                          "  %from = getelementptr <32 x float>, ptr %p, i64 %i\n"
                          "  %to = getelementptr <48 x float>, ptr %q, i64 %i\n" +
                              body +
                              "  store <32 x float> %v, ptr %to, align 4\n"
                              "  %next = add i64 %i, 1\n"
                              "  %more = icmp ult i64 %next, 35\n"
                              "  br i1 %more, label %loop, label %end\n"
                              "end:\n  ret void\n}\n",
                          error, context);
  EXPECT_TRUE(code) << error.getMessage().str();
  keepCopyLoops(*code->begin());
  EXPECT_FALSE(
      errorToBool(mlir::makeOptimizingTransformer(3, 0, /*targetMachine=*/nullptr)(code.get())));
  return static_cast<size_t>(llvm::count_if(
      instructions(*code->begin()), [](Instruction &each) { return isa<StoreInst>(each); }));
}

TEST(CopyLoops, CopiesAndFillsStayLoops) {
  EXPECT_EQ(storesIn("  %v = load <32 x float>, ptr %from, align 4\n"), 1U);
  EXPECT_EQ(storesIn("  %v = select i1 true, <32 x float> %fixed, <32 x float> %fixed\n"), 1U);
}

TEST(CopyLoops, LoopsThatComputeAreLeftToTheOptimizer) {
  EXPECT_GT(storesIn("  %x = load <32 x float>, ptr %from, align 4\n"
                     "  %v = fadd <32 x float> %x, %fixed\n"),
            1U);
}

} // namespace
} // namespace headrace
