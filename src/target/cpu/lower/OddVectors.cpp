// Before:
//   header: %a = phi <6 x float> [ %zero, %entry ], [ %next, %header ]
//           %x = load <6 x float>, ptr %p
//           %next = call <6 x float> @llvm.fma(%x, %w, %a)
// After:
//   header: %wide = phi <8 x float> [ %zero8, %entry ], [ %next, %header ]
//           %x = call <8 x float> @llvm.masked.load(%p, 11111100)
//           %next = call <8 x float> @llvm.fma(%x, %w8, %wide)
// Users of the six elements extract them (llvm.vector.extract). Comparisons and selections are
// widened, too: the code generator would hand what is selected on through memory, in parts.
#include "target/cpu/lower/OddVectors.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/Local.h"

namespace headrace {
namespace {

using namespace llvm;
using namespace llvm::PatternMatch;

/// The type at the next power of two; null if the length is one already.
FixedVectorType *widened(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector || vector->getNumElements() < 3 || isPowerOf2_32(vector->getNumElements()) ||
      vector->getScalarSizeInBits() < 32)
    return nullptr;
  return FixedVectorType::get(vector->getElementType(),
                              static_cast<unsigned>(PowerOf2Ceil(vector->getNumElements())));
}

/// The vector, with anything after it.
Value *extended(IRBuilder<> &b, Value *value, FixedVectorType *type) {
  Value *wide = nullptr;
  if (match(value, m_Intrinsic<Intrinsic::vector_extract>(m_Value(wide), m_Zero())) &&
      wide->getType() == type)
    return wide;
  if (Value *scalar = getSplatValue(value))
    return b.CreateVectorSplat(type->getNumElements(), scalar);
  // One element of another vector everywhere, as a product reads its left side, is so in the wide
  // one, too; other orders go on with anything.
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(value)) {
    ArrayRef<int> narrow = shuffle->getShuffleMask();
    SmallVector<int> mask(narrow);
    mask.resize(type->getNumElements(), all_equal(narrow) ? narrow.front() : PoisonMaskElem);
    return b.CreateShuffleVector(shuffle->getOperand(0), shuffle->getOperand(1), mask);
  }
  return b.CreateInsertVector(type, PoisonValue::get(type), value, b.getInt64(0));
}

/// The first elements of a wider vector.
Value *beginning(IRBuilder<> &b, Value *wide, Type *type) {
  return b.CreateExtractVector(type, wide, b.getInt64(0));
}

/// A wide phi for what reads this one; what comes in follows once that is wide, too.
PHINode *startWidePhi(PHINode *phi, FixedVectorType *type) {
  IRBuilder<> b(phi);
  PHINode *wide = b.CreatePHI(type, phi->getNumIncomingValues());
  b.SetInsertPoint(phi->getParent(), phi->getParent()->getFirstInsertionPt());
  phi->replaceAllUsesWith(beginning(b, wide, phi->getType()));
  return wide;
}

void finishWidePhi(PHINode *wide, PHINode *phi) {
  for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
    IRBuilder<> b(phi->getIncomingBlock(i)->getTerminator());
    wide->addIncoming(extended(b, phi->getIncomingValue(i), cast<FixedVectorType>(wide->getType())),
                      phi->getIncomingBlock(i));
  }
  phi->eraseFromParent();
}

/// A tile of such vectors becomes one value per vector.
void splitPhi(PHINode *phi, ArrayType *type) {
  IRBuilder<> b(phi);
  SmallVector<PHINode *> parts;
  for (unsigned i = 0; i < type->getNumElements(); ++i)
    parts.push_back(b.CreatePHI(type->getElementType(), phi->getNumIncomingValues()));
  for (unsigned edge = 0; edge < phi->getNumIncomingValues(); ++edge) {
    BasicBlock *from = phi->getIncomingBlock(edge);
    b.SetInsertPoint(from->getTerminator());
    for (unsigned i = 0; i < parts.size(); ++i) {
      Value *part = FindInsertedValue(phi->getIncomingValue(edge), i);
      parts[i]->addIncoming(part ? part : b.CreateExtractValue(phi->getIncomingValue(edge), i),
                            from);
    }
  }
  for (User *user : make_early_inc_range(phi->users()))
    if (auto *extract = dyn_cast<ExtractValueInst>(user);
        extract && extract->getNumIndices() == 1) {
      extract->replaceAllUsesWith(parts[extract->getIndices().front()]);
      extract->eraseFromParent();
    }
  b.SetInsertPoint(phi->getParent(), phi->getParent()->getFirstInsertionPt());
  Value *whole = PoisonValue::get(type);
  for (auto [i, part] : enumerate(parts))
    whole = b.CreateInsertValue(whole, part, static_cast<unsigned>(i));
  phi->replaceAllUsesWith(whole);
  phi->eraseFromParent();
}

/// The elements of a comparison, or of some that are combined, at the length of another type; null
/// if they come from elsewhere.
Value *widenedCondition(IRBuilder<> &b, Value *condition, FixedVectorType *type) {
  if (!condition->getType()->isVectorTy())
    return condition; // one for all elements
  if (auto *compare = dyn_cast<FCmpInst>(condition)) {
    auto *compared = FixedVectorType::get(compare->getOperand(0)->getType()->getScalarType(),
                                          type->getNumElements());
    return b.CreateFCmp(compare->getPredicate(), extended(b, compare->getOperand(0), compared),
                        extended(b, compare->getOperand(1), compared));
  }
  auto *combined = dyn_cast<BinaryOperator>(condition);
  if (!combined)
    return nullptr;
  Value *left = widenedCondition(b, combined->getOperand(0), type);
  Value *right = left ? widenedCondition(b, combined->getOperand(1), type) : nullptr;
  return right ? b.CreateBinOp(combined->getOpcode(), left, right) : nullptr;
}

void widenSelect(SelectInst *narrow, FixedVectorType *type) {
  IRBuilder<> b(narrow);
  Value *condition = widenedCondition(b, narrow->getCondition(), type);
  if (!condition)
    return;
  Value *wide = b.CreateSelect(condition, extended(b, narrow->getTrueValue(), type),
                               extended(b, narrow->getFalseValue(), type));
  narrow->replaceAllUsesWith(beginning(b, wide, narrow->getType()));
  narrow->eraseFromParent();
}

/// Whether every element of the result depends on the same element of all operands, and computing
/// one more does no harm.
bool isElementwise(Instruction &each) {
  if (!each.getType()->isFPOrFPVectorTy())
    return false;
  if (isa<BinaryOperator, UnaryOperator>(each))
    return true;
  auto *call = dyn_cast<IntrinsicInst>(&each);
  return call && isTriviallyVectorizable(call->getIntrinsicID()) &&
         all_of(call->args(), [&](Value *operand) { return operand->getType() == each.getType(); });
}

void widenElementwise(Instruction *narrow, FixedVectorType *type) {
  if (auto *select = dyn_cast<SelectInst>(narrow))
    return widenSelect(select, type);
  if (!isElementwise(*narrow))
    return;
  IRBuilder<> b(narrow);
  SmallVector<Value *> operands;
  auto *call = dyn_cast<IntrinsicInst>(narrow);
  for (Value *operand :
       call ? to_vector<4>(map_range(call->args(), [](Use &use) { return use.get(); }))
            : SmallVector<Value *, 4>(narrow->operand_values()))
    operands.push_back(extended(b, operand, type));
  Value *wide = call ? b.CreateIntrinsic(call->getIntrinsicID(), {type}, operands)
                     : b.CreateNAryOp(narrow->getOpcode(), operands);
  if (auto *made = dyn_cast<Instruction>(wide))
    made->copyIRFlags(narrow);
  narrow->replaceAllUsesWith(beginning(b, wide, narrow->getType()));
  narrow->eraseFromParent();
}

/// Users in other blocks take the first elements of a wider vector.
void widenForOthers(Instruction *value, FixedVectorType *type) {
  SmallVector<Use *> others;
  for (Use &use : value->uses())
    if (cast<Instruction>(use.getUser())->getParent() != value->getParent())
      others.push_back(&use);
  if (others.empty() || value->isTerminator())
    return;
  IRBuilder<> b(value->getNextNode());
  Value *wide = extended(b, value, type);
  for (Use *use : others) {
    b.SetInsertPoint(cast<Instruction>(use->getUser()));
    use->set(beginning(b, wide, value->getType()));
  }
}

/// All instructions whose result has such a length, and the type it gets.
template <class Kind>
SmallVector<std::pair<Kind *, FixedVectorType *>> oddOnes(Function &function) {
  SmallVector<std::pair<Kind *, FixedVectorType *>> found;
  for (Instruction &each : instructions(function))
    if (auto *kind = dyn_cast<Kind>(&each))
      if (FixedVectorType *type = widened(each.getType()))
        found.emplace_back(kind, type);
  return found;
}

} // namespace

void splitTiles(Function &function) {
  SmallVector<PHINode *> tiles;
  for (Instruction &each : instructions(function))
    if (auto *type = dyn_cast<ArrayType>(each.getType());
        type && isa<PHINode>(each) && widened(type->getElementType()))
      tiles.push_back(cast<PHINode>(&each));
  for (PHINode *phi : tiles)
    splitPhi(phi, cast<ArrayType>(phi->getType()));
}

void widenOddVectors(Function &function) {
  SmallVector<std::pair<PHINode *, PHINode *>> phis;
  for (auto [phi, type] : oddOnes<PHINode>(function))
    phis.emplace_back(startWidePhi(phi, type), phi);
  for (auto [value, type] : oddOnes<Instruction>(function))
    widenElementwise(value, type);
  for (auto [wide, phi] : phis)
    finishWidePhi(wide, phi);
  for (auto [value, type] : oddOnes<Instruction>(function))
    widenForOthers(value, type);
  for (BasicBlock &block : function)
    for (Instruction &each : make_early_inc_range(reverse(block)))
      if (isInstructionTriviallyDead(&each))
        each.eraseFromParent();
}

void loadUnderMasks(Function &function) {
  for (auto [load, type] : oddOnes<LoadInst>(function)) {
    if (!load->isSimple())
      continue;
    IRBuilder<> b(load);
    SmallVector<Constant *> lanes(type->getNumElements(), b.getFalse());
    std::fill_n(lanes.begin(), cast<FixedVectorType>(load->getType())->getNumElements(),
                b.getTrue());
    Value *wide = b.CreateMaskedLoad(type, load->getPointerOperand(), load->getAlign(),
                                     ConstantVector::get(lanes));
    load->replaceAllUsesWith(beginning(b, wide, load->getType()));
    load->eraseFromParent();
  }
}

} // namespace headrace
