// Before:
//   %x = load <40 x float>, ptr %p
//   %next = call <40 x float> @llvm.fma(%x, %w, %a)
// After:
//   %x.0 = load <16 x float>, ptr %p ; %x.1 = load <16 x float>, ... ; %x.2 = load <8 x float>, ...
//   %next.0 = call <16 x float> @llvm.fma(%x.0, %w.0, %a.0) ; ...
// Instructions that cannot be taken apart read the parts put together again.
#include "target/cpu/lower/SplitVectors.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/Local.h"

#include <set>

namespace headrace {
namespace {

using namespace llvm;

unsigned lengthOf(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 0;
}

class Splitter {
public:
  Splitter(Function &function, int64_t vectorBytes) : function(function) {
    // All vectors of a length have the same parts, whatever their elements are.
    unsigned widest = 32;
    for (Instruction &each : instructions(function))
      if (isLong(each.getType(), vectorBytes))
        widest = std::max(widest, each.getType()->getScalarSizeInBits());
    lanes = static_cast<unsigned>(8 * vectorBytes) / widest;
    for (Instruction &each : instructions(function))
      if (isLong(each.getType(), vectorBytes))
        lengths.insert(lengthOf(each.getType()));
  }

  void run() {
    if (lengths.empty())
      return;
    ReversePostOrderTraversal<Function *> order(&function);
    for (BasicBlock *block : order)
      for (Instruction &each : make_early_inc_range(*block))
        if (split(each))
          old.push_back(&each);
    for (auto [phi, whole] : phis)
      for (auto [part, value] : enumerate(parts[whole]))
        for (unsigned i = 0; i < whole->getNumIncomingValues(); ++i)
          if (value == phi)
            phi->addIncoming(partsOf(whole->getIncomingValue(i))[part], whole->getIncomingBlock(i));
    eraseOld();
  }

private:
  static bool isLong(Type *type, int64_t vectorBytes) {
    return lengthOf(type) > 2 && !isPowerOf2_32(lengthOf(type)) &&
           type->getScalarSizeInBits() >= 32 &&
           type->getPrimitiveSizeInBits().getFixedValue() > static_cast<uint64_t>(8 * vectorBytes);
  }
  bool isLong(const Value *value) const { return lengths.contains(lengthOf(value->getType())); }

  struct Part {
    unsigned begin, size;
  };
  SmallVector<Part> cuts(unsigned length) const {
    SmallVector<Part> result;
    for (unsigned begin = 0; begin < length; begin += lanes)
      result.push_back({begin, std::min(lanes, length - begin)});
    return result;
  }

  static SmallVector<int> positions(Part part) {
    SmallVector<int> mask;
    for (unsigned i = 0; i < part.size; ++i)
      mask.push_back(static_cast<int>(part.begin + i));
    return mask;
  }

  /// The parts of a value, taken out of it if it was not split itself.
  SmallVector<Value *> partsOf(Value *value) {
    if (auto known = parts.find(value); known != parts.end())
      return known->second;
    IRBuilder<> b(function.getContext());
    if (auto *made = dyn_cast<Instruction>(value))
      b.SetInsertPoint(*made->getInsertionPointAfterDef());
    else
      b.SetInsertPoint(&*function.getEntryBlock().getFirstInsertionPt());
    SmallVector<Value *> result;
    for (Part part : cuts(lengthOf(value->getType())))
      result.push_back(b.CreateShuffleVector(value, positions(part)));
    if (!isa<Constant>(value))
      parts[value] = result;
    return result;
  }

  /// Writes the instruction once for each part; false if it stays whole.
  bool split(Instruction &each) {
    if (auto *store = dyn_cast<StoreInst>(&each))
      return isLong(store->getValueOperand()) && store->isSimple() && splitStore(store);
    if (!isLong(&each))
      return false;
    SmallVector<Part> pieces = cuts(lengthOf(each.getType()));
    SmallVector<Value *> made;
    IRBuilder<> b(&each);
    if (auto *phi = dyn_cast<PHINode>(&each)) {
      for (Part part : pieces)
        made.push_back(b.CreatePHI(narrow(phi->getType(), part), phi->getNumIncomingValues()));
      for (Value *part : made)
        phis.emplace_back(cast<PHINode>(part), phi);
    } else if (auto *load = dyn_cast<LoadInst>(&each); load && load->isSimple()) {
      for (Part part : pieces) {
        auto [address, alignment] =
            placeOf(b, load->getPointerOperand(), load->getAlign(), load->getType(), part);
        LoadInst *piece = b.CreateAlignedLoad(narrow(load->getType(), part), address, alignment);
        piece->copyMetadata(*load);
        made.push_back(piece);
      }
    } else if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&each)) {
      Value *same = getSplatValue(shuffle);
      for (Part part : pieces)
        made.push_back(
            same ? b.CreateVectorSplat(part.size, same)
                 : b.CreateShuffleVector(shuffle->getOperand(0), shuffle->getOperand(1),
                                         shuffle->getShuffleMask().slice(part.begin, part.size)));
    } else if (isElementwise(each)) {
      made = splitElementwise(each, pieces);
    } else {
      return false;
    }
    parts[&each] = made;
    return true;
  }

  bool splitStore(StoreInst *store) {
    IRBuilder<> b(store);
    Type *type = store->getValueOperand()->getType();
    SmallVector<Value *> values = partsOf(store->getValueOperand());
    for (auto [part, value] : zip(cuts(lengthOf(type)), values)) {
      auto [address, alignment] =
          placeOf(b, store->getPointerOperand(), store->getAlign(), type, part);
      b.CreateAlignedStore(value, address, alignment)->copyMetadata(*store);
    }
    return true;
  }

  static Type *narrow(Type *type, Part part) {
    return FixedVectorType::get(type->getScalarType(), part.size);
  }

  std::pair<Value *, Align> placeOf(IRBuilder<> &b, Value *address, Align alignment, Type *type,
                                    Part part) const {
    uint64_t bytes = part.begin * uint64_t{type->getScalarSizeInBits()} / 8;
    return {b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), address, bytes),
            commonAlignment(alignment, bytes)};
  }

  /// Whether every element of the result depends on the same element of all operands that are
  /// vectors.
  static bool isElementwise(Instruction &each) {
    auto *call = dyn_cast<IntrinsicInst>(&each);
    if (call && !isTriviallyVectorizable(call->getIntrinsicID()))
      return false;
    if (!call &&
        !isa<BinaryOperator, UnaryOperator, CmpInst, SelectInst, CastInst, FreezeInst>(each))
      return false;
    // Each of its types must be that of a vector of this length: one is left as it is elsewhere.
    return all_of(each.operand_values(), [&](Value *operand) {
      unsigned length = lengthOf(operand->getType());
      bool isCallee = call && operand == call->getCalledOperand();
      return isCallee || length == lengthOf(each.getType()) ||
             (isa<SelectInst>(each) && length == 0);
    });
  }

  SmallVector<Value *> splitElementwise(Instruction &each, ArrayRef<Part> pieces) {
    auto *call = dyn_cast<IntrinsicInst>(&each);
    SmallVector<Value *> operands(each.operand_values()), made;
    if (call)
      operands.assign(call->arg_begin(), call->arg_end());
    SmallVector<SmallVector<Value *>> narrowed;
    for (Value *operand : operands)
      narrowed.push_back(lengthOf(operand->getType()) == 0
                             ? SmallVector<Value *>(pieces.size(), operand)
                             : partsOf(operand));
    IRBuilder<> b(&each);
    for (auto [i, part] : enumerate(pieces)) {
      Type *type = narrow(each.getType(), part);
      Value *piece = nullptr;
      if (call) {
        SmallVector<Value *> arguments;
        for (const auto &operand : narrowed)
          arguments.push_back(operand[i]);
        piece = b.CreateIntrinsic(type, call->getIntrinsicID(), arguments);
        cast<Instruction>(piece)->copyIRFlags(call);
      } else {
        Instruction *copy = each.clone();
        for (auto [index, operand] : enumerate(narrowed))
          copy->setOperand(static_cast<unsigned>(index), operand[i]);
        copy->mutateType(type);
        piece = b.Insert(copy);
      }
      made.push_back(piece);
    }
    return made;
  }

  /// Users that still read a value as a whole get its parts put together.
  void eraseOld() {
    SmallPtrSet<Instruction *, 32> gone(old.begin(), old.end());
    for (Instruction *whole : old) {
      SmallVector<Use *> others;
      for (Use &use : whole->uses())
        if (!gone.contains(cast<Instruction>(use.getUser())))
          others.push_back(&use);
      if (others.empty())
        continue;
      IRBuilder<> b(&*whole->getInsertionPointAfterDef().value());
      Value *together = concatenateVectors(b, parts[whole]);
      for (Use *use : others)
        use->set(together);
    }
    for (Instruction *whole : old)
      whole->dropAllReferences();
    for (Instruction *whole : old) {
      whole->replaceAllUsesWith(PoisonValue::get(whole->getType()));
      whole->eraseFromParent();
    }
  }

  Function &function;
  unsigned lanes = 0;
  std::set<unsigned> lengths;
  DenseMap<Value *, SmallVector<Value *>> parts;
  SmallVector<std::pair<PHINode *, PHINode *>> phis; // a part, and what it is a part of
  SmallVector<Instruction *> old;
};

} // namespace

void splitLongVectors(Function &function, int64_t vectorBytes) {
  Splitter(function, vectorBytes).run();
  for (BasicBlock &block : function)
    for (Instruction &each : make_early_inc_range(reverse(block)))
      if (isInstructionTriviallyDead(&each))
        each.eraseFromParent();
}

} // namespace headrace
