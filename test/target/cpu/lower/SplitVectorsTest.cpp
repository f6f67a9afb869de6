#include "target/cpu/lower/SplitVectors.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using namespace llvm;

constexpr int64_t kVectorBytes = 64;

class SplitVectorsTest : public testing::Test {
protected:
  /// The function of a text after its long vectors were split.
  Function &split(const char *text) {
    SMDiagnostic error;
    module = parseAssemblyString(text, error, context);
    EXPECT_TRUE(module) << error.getMessage().str();
    Function &function = *module->begin();
    splitLongVectors(function, kVectorBytes);
    EXPECT_FALSE(verifyFunction(function, &errs()));
    return function;
  }

  static unsigned longest(Function &function) {
    unsigned most = 0;
    for (Instruction &each : instructions(function))
      if (auto *vector = dyn_cast<FixedVectorType>(each.getType()))
        most = std::max(most, vector->getNumElements());
    return most;
  }

  template <class Kind> static std::vector<unsigned> lengths(Function &function) {
    std::vector<unsigned> found;
    for (Instruction &each : instructions(function))
      if (isa<Kind>(each)) {
        Type *type = isa<StoreInst>(each) ? each.getOperand(0)->getType() : each.getType();
        if (auto *vector = dyn_cast<FixedVectorType>(type))
          found.push_back(vector->getNumElements());
      }
    return found;
  }

  LLVMContext context;
  std::unique_ptr<Module> module;
};

/// A sum of products in a loop, and what follows it.
constexpr const char *kLoop = R"(
define void @f(ptr %p, ptr %w, ptr %out, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %sum = phi <40 x float> [ zeroinitializer, %entry ], [ %next, %loop ]
  %a = getelementptr float, ptr %p, i64 %i
  %x = load float, ptr %a
  %one = insertelement <40 x float> poison, float %x, i64 0
  %all = shufflevector <40 x float> %one, <40 x float> poison, <40 x i32> zeroinitializer
  %b = getelementptr <40 x float>, ptr %w, i64 %i
  %row = load <40 x float>, ptr %b, align 4
  %next = call <40 x float> @llvm.fma.v40f32(<40 x float> %all, <40 x float> %row, <40 x float> %sum)
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %end
end:
  %below = fcmp olt <40 x float> %next, zeroinitializer
  %bits = bitcast <40 x float> %next to <40 x i32>
  %twice = shl <40 x i32> %bits, splat (i32 1)
  %number = bitcast <40 x i32> %twice to <40 x float>
  %y = select <40 x i1> %below, <40 x float> zeroinitializer, <40 x float> %number
  store <40 x float> %y, ptr %out, align 4
  ret void
}
declare <40 x float> @llvm.fma.v40f32(<40 x float>, <40 x float>, <40 x float>)
)";

TEST_F(SplitVectorsTest, RowsOfTilesAreWholeRegistersAndARest) {
  Function &function = split(kLoop);
  EXPECT_EQ(longest(function), 16U);
  EXPECT_EQ(lengths<PHINode>(function), (std::vector<unsigned>{16, 16, 8}));
  EXPECT_EQ(lengths<CallInst>(function), (std::vector<unsigned>{16, 16, 8}));
  EXPECT_EQ(lengths<SelectInst>(function), (std::vector<unsigned>{16, 16, 8}));
  EXPECT_EQ(lengths<StoreInst>(function), (std::vector<unsigned>{16, 16, 8}));
}

TEST_F(SplitVectorsTest, WhatCannotBeTakenApartReadsThePartsTogether) {
  Function &function = split(R"(
define float @f(ptr %p, float %start) {
  %x = load <24 x float>, ptr %p, align 4
  %y = fadd <24 x float> %x, %x
  %sum = call reassoc float @llvm.vector.reduce.fadd.v24f32(float %start, <24 x float> %y)
  ret float %sum
}
declare float @llvm.vector.reduce.fadd.v24f32(float, <24 x float>)
)");
  EXPECT_EQ(lengths<LoadInst>(function), (std::vector<unsigned>{16, 8}));
  EXPECT_EQ(lengths<BinaryOperator>(function), (std::vector<unsigned>{16, 8}));
  EXPECT_EQ(longest(function), 24U);
}

TEST_F(SplitVectorsTest, WiderElementsHaveFewerLanes) {
  Function &function = split(R"(
define void @f(ptr %p, ptr %q) {
  %x = load <20 x float>, ptr %p, align 4
  %y = fpext <20 x float> %x to <20 x double>
  store <20 x double> %y, ptr %q, align 8
  ret void
}
)");
  EXPECT_EQ(lengths<LoadInst>(function), (std::vector<unsigned>{8, 8, 4}));
  EXPECT_EQ(lengths<StoreInst>(function), (std::vector<unsigned>{8, 8, 4}));
}

TEST_F(SplitVectorsTest, OthersStay) {
  Function &function = split(R"(
define void @f(ptr %p, ptr %q) {
  %x = load <64 x float>, ptr %p, align 4
  %y = load <6 x float>, ptr %p, align 4
  store <64 x float> %x, ptr %q, align 4
  store <6 x float> %y, ptr %q, align 4
  ret void
}
)");
  EXPECT_EQ(lengths<LoadInst>(function), (std::vector<unsigned>{64, 6}));
}

} // namespace
} // namespace headrace
