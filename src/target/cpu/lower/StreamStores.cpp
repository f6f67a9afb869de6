// Before:
//   define i64 @k(ptr %buffers, ...) { ... store <32 x float> %v, ptr %line ... ret }
// After:
//   define i64 @k(ptr %buffers, ...) {
//     br %begin < %end ; %out = load ptr, %buffers + 8 ; br (%out & 63) == 0
//     tail call @k.streaming(...) ; ret  |  as before }
//   define internal i64 @k.streaming(ptr %buffers, ...) {
//     ... store <32 x float> %v, ptr %line, align 64, !nontemporal ... sfence ; ret }
//
// Such stores are seen by other threads in any order: the fence comes before the kernel says that
// it is done. Lines that are fetched for writing would be in the caches again.
#include "target/cpu/lower/StreamStores.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace headrace {
namespace {

using namespace llvm;

constexpr uint64_t kLine = 64;

class StreamingCopy {
public:
  StreamingCopy(Function &kernel, ArrayRef<int64_t> positions) : kernel(kernel) {
    findBases(positions);
    leaveWhatIsRead();
  }

  /// The stores that fill lines of a result.
  SmallVector<StoreInst *> lineStores() {
    TargetLibraryInfoImpl libraries;
    TargetLibraryInfo library(libraries);
    AssumptionCache assumptions(kernel);
    DominatorTree dominators(kernel);
    LoopInfo loops(dominators);
    ScalarEvolution evolution(kernel, library, assumptions, dominators, loops);
    const DataLayout &layout = kernel.getParent()->getDataLayout();
    SmallVector<StoreInst *> found;
    for (Instruction &each : instructions(kernel)) {
      auto *store = dyn_cast<StoreInst>(&each);
      if (!store || !store->isSimple() ||
          !isa<FixedVectorType>(store->getValueOperand()->getType()))
        continue;
      uint64_t bytes = layout.getTypeStoreSize(store->getValueOperand()->getType());
      const SCEV *address = evolution.getSCEV(store->getPointerOperand());
      auto *base = dyn_cast<SCEVUnknown>(evolution.getPointerBase(address));
      if (bytes % kLine == 0 && base && bases.contains(base->getValue()) &&
          evolution.getMinTrailingZeros(evolution.removePointerBase(address)) >= Log2_64(kLine))
        found.push_back(store);
    }
    return found;
  }

  void stream(ArrayRef<StoreInst *> stores) {
    LLVMContext &context = kernel.getContext();
    MDNode *one = MDNode::get(
        context, ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), 1)));
    for (StoreInst *store : stores) {
      store->setAlignment(Align(kLine));
      store->setMetadata(LLVMContext::MD_nontemporal, one);
    }
    SmallVector<Instruction *> ends, fetches;
    for (Instruction &each : instructions(kernel)) {
      if (isa<ReturnInst>(each))
        ends.push_back(&each);
      auto *call = dyn_cast<IntrinsicInst>(&each);
      if (call && call->getIntrinsicID() == Intrinsic::prefetch &&
          bases.contains(getUnderlyingObject(call->getArgOperand(0), /*MaxLookup=*/0)))
        fetches.push_back(call);
    }
    for (Instruction *fetch : fetches)
      fetch->eraseFromParent();
    for (Instruction *end : ends)
      IRBuilder<>(end).CreateIntrinsic(Type::getVoidTy(context), Intrinsic::x86_sse_sfence, {});
  }

private:
  /// Where the kernel loads the addresses of these buffers.
  void findBases(ArrayRef<int64_t> positions) {
    const DataLayout &layout = kernel.getParent()->getDataLayout();
    for (Instruction &each : instructions(kernel)) {
      auto *load = dyn_cast<LoadInst>(&each);
      if (!load || !load->getType()->isPointerTy())
        continue;
      APInt offset(64, 0);
      Value *from = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
          layout, offset, /*AllowNonInbounds=*/true);
      if (from == kernel.getArg(0) && is_contained(positions, offset.getSExtValue() / 8))
        bases.insert(load);
    }
  }

  void leaveWhatIsRead() {
    for (Instruction &each : instructions(kernel))
      if (!isa<StoreInst, IntrinsicInst>(each) && each.mayReadFromMemory())
        for (Value *operand : each.operands())
          if (operand->getType()->isPointerTy())
            bases.erase(getUnderlyingObject(operand, /*MaxLookup=*/0));
  }

  Function &kernel;
  SmallPtrSet<const Value *, 4> bases;
};

/// Calls the copy first if there is something to do, and all of these buffers begin on a line.
void callIfAligned(Function &kernel, Function &streaming, ArrayRef<int64_t> positions) {
  LLVMContext &context = kernel.getContext();
  BasicBlock *whole = &kernel.getEntryBlock();
  auto block = [&](const char *name) { return BasicBlock::Create(context, name, &kernel, whole); };
  BasicBlock *entry = block("entry"), *check = block("check"), *call = block("stream");
  Type *pointer = PointerType::getUnqual(context), *number = Type::getInt64Ty(context);

  IRBuilder<> b(entry);
  b.CreateCondBr(b.CreateICmpSLT(kernel.getArg(2), kernel.getArg(3)), check, whole);
  b.SetInsertPoint(check);
  Value *bits = b.getInt64(0);
  for (int64_t position : positions) {
    Value *place = b.CreateConstGEP1_64(pointer, kernel.getArg(0), position);
    bits = b.CreateOr(bits, b.CreatePtrToInt(b.CreateLoad(pointer, place), number));
  }
  Value *isAligned = b.CreateICmpEQ(b.CreateAnd(bits, kLine - 1), b.getInt64(0));
  b.CreateCondBr(isAligned, call, whole);
  b.SetInsertPoint(call);
  SmallVector<Value *> arguments;
  for (Argument &argument : kernel.args())
    arguments.push_back(&argument);
  b.CreateRet(b.CreateCall(&streaming, arguments));
}

} // namespace

void streamStores(Function &kernel, ArrayRef<int64_t> positions) {
  constexpr unsigned parameters = 5; // of KernelFn
  if (kernel.isDeclaration() || kernel.arg_size() != parameters || positions.empty())
    return;
  ValueToValueMapTy same;
  Function *streaming = CloneFunction(&kernel, same);
  StreamingCopy copy(*streaming, positions);
  SmallVector<StoreInst *> stores = copy.lineStores();
  if (stores.empty()) {
    streaming->eraseFromParent();
    return;
  }
  streaming->setName(kernel.getName() + ".streaming");
  streaming->setLinkage(GlobalValue::InternalLinkage);
  streaming->setVisibility(GlobalValue::DefaultVisibility);
  copy.stream(stores);
  callIfAligned(kernel, *streaming, positions);
}

} // namespace headrace
