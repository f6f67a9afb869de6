#include "target/cpu/lower/StreamStores.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using namespace llvm;

/// A kernel that adds one to rows of `columns` elements: %at is where the row begins, in elements.
std::string kernel(const std::string &columns, const std::string &more = "") {
  return R"(
define i64 @k(ptr %buffers, ptr %symbols, i64 %begin, i64 %end, ptr %workspace) {
entry:
  %in = load ptr, ptr %buffers
  %place = getelementptr i8, ptr %buffers, i64 8
  %out = load ptr, ptr %place
  %runs = icmp ult i64 %begin, %end
  br i1 %runs, label %loop, label %done
loop:
  %row = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at = mul i64 %row, )" +
         columns + R"(
  %read = getelementptr float, ptr %in, i64 %at
  %write = getelementptr float, ptr %out, i64 %at
  %x = load <32 x float>, ptr %read, align 4
  )" + more +
         R"(
  %y = fadd <32 x float> %x, %x
  store <32 x float> %y, ptr %write, align 4
  %next = add i64 %row, 1
  %on = icmp ult i64 %next, %end
  br i1 %on, label %loop, label %done
done:
  ret i64 8
}
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
)";
}

class StreamStoresTest : public testing::Test {
protected:
  void stream(const std::string &text) {
    SMDiagnostic error;
    module = parseAssemblyString(text, error, context);
    ASSERT_TRUE(module) << error.getMessage().str();
    streamStores(*module->getFunction("k"), {1});
    ASSERT_FALSE(verifyModule(*module, &errs()));
    copy = module->getFunction("k.streaming");
  }

  template <class Kind> static std::vector<Kind *> all(Function &function) {
    std::vector<Kind *> found;
    for (Instruction &each : instructions(function))
      if (auto *one = dyn_cast<Kind>(&each))
        found.push_back(one);
    return found;
  }

  LLVMContext context;
  std::unique_ptr<Module> module;
  Function *copy = nullptr;
};

TEST_F(StreamStoresTest, LinesOfTheResultAreStreamedInACopy) {
  stream(kernel("32"));
  ASSERT_TRUE(copy);
  auto stores = all<StoreInst>(*copy);
  ASSERT_EQ(stores.size(), 1U);
  EXPECT_TRUE(stores[0]->getMetadata(LLVMContext::MD_nontemporal));
  EXPECT_EQ(stores[0]->getAlign(), Align(64));
  auto calls = all<IntrinsicInst>(*copy);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0]->getIntrinsicID(), Intrinsic::x86_sse_sfence);
  // The kernel itself stores as before, for buffers that do not begin on a line.
  for (StoreInst *store : all<StoreInst>(*module->getFunction("k")))
    EXPECT_FALSE(store->getMetadata(LLVMContext::MD_nontemporal));
  EXPECT_EQ(all<CallInst>(*module->getFunction("k")).size(), 1U);
}

TEST_F(StreamStoresTest, RowsThatDoNotBeginOnALineStayInTheCaches) {
  stream(kernel("33"));
  EXPECT_FALSE(copy);
}

TEST_F(StreamStoresTest, ResultsThatAreReadStayInTheCaches) {
  stream(kernel("32", "%again = load <32 x float>, ptr %write, align 4"));
  EXPECT_FALSE(copy);
}

TEST_F(StreamStoresTest, LinesAreNotFetchedForWriting) {
  stream(kernel("32", "call void @llvm.prefetch.p0(ptr %write, i32 1, i32 3, i32 1)"));
  ASSERT_TRUE(copy);
  for (IntrinsicInst *call : all<IntrinsicInst>(*copy))
    EXPECT_NE(call->getIntrinsicID(), Intrinsic::prefetch);
}

} // namespace
} // namespace headrace
