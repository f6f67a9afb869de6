// Level 1: f16 and bf16 are computed in f32 and rounded once, at the end of each operator.
//
//   %y = hr.softmax %x {axis = 1} : (tensor<4x8xf16>) -> tensor<4x8xf16>
// becomes
//   %w = hr.map(%x) { extf } ; %s = hr.softmax %w {axis = 1} : f32 ; %y = hr.map(%s) { truncf }
// and the body of a map
//   %e = math.exp %a : f16 ; %s = arith.addf %e, %one : f16 ; hr.yield %s
// becomes
//   %w = arith.extf %a ; %e = math.exp %w : f32 ; ... ; %n = arith.truncf %s ; hr.yield %n
//
// An operator of the user that is several here (a norm: squares, their sum, its root) has one name
// throughout, and its steps hand each other numbers that are not rounded.
//
// Why: a sum of ones in f16 stops at 2048 and one in bf16 at 256, exp overflows f16 at 11.1, and
// CPUs compute in f32 anyway, rounding after every step. Every front end gets it here, and
// none decides for itself.
// If the machine adds pairs of products of bf16 to sums in f32 (`pairs`), such products keep both
// factors: half of the bytes, and twice the products per instruction.
//   %y = hr.conv %x, %w : bf16
// becomes
//   %s = hr.conv %x, %w {accumulator = f32} : (bf16, bf16) -> f32 ; %y = hr.map(%s) { truncf }
//
// When it hurts: products on tensor cores read narrow numbers and accumulate them in f32
// themselves; devices keep theirs narrow (`products` is off) until SumInSingle gives them wide
// sums.
#include "analysis/MatrixProduct.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "dialect/scalar/HalfPrecision.h"
#include "transform/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_COMPUTEINF32PASS
#include "transform/Passes.h.inc"

namespace {

Type inSingle(Type type) {
  Type single = Float32Type::get(type.getContext());
  if (!isHalf(type))
    return type;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(single);
  return single;
}

//===--------------------------------------------------------------------------===//
// Scalar bodies
//===--------------------------------------------------------------------------===//

/// Operations that never round.
bool isExact(Operation *op) {
  return isa<arith::ConstantOp, arith::SelectOp, arith::CmpFOp, arith::NegFOp, math::AbsFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
             arith::ExtFOp, arith::TruncFOp, arith::FPToSIOp, arith::FPToUIOp, arith::SIToFPOp,
             arith::UIToFPOp, math::CopySignOp, hr::ElementOp>(op);
}

bool rounds(Block &body) {
  return llvm::any_of(body.without_terminator(), [](Operation &op) {
    return llvm::any_of(op.getResultTypes(), isHalf) && !isExact(&op);
  });
}

/// Conversions say that a value is of the narrow type: it is rounded to it.
bool converts(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp, arith::FPToSIOp, arith::FPToUIOp, arith::SIToFPOp,
             arith::UIToFPOp, arith::BitcastOp, arith::ConstantOp, hr::ElementOp>(op);
}

/// Clones a body, keeping what it computes in f32.
class BodyWidener {
public:
  BodyWidener(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  /// The arguments may be in f32 already.
  void run(Block &body, ValueRange arguments) {
    for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
      (argument.getType() == value.getType() ? narrow : wide).map(argument, value);
    SmallVector<Operation *> operations; // copies may go into the body itself
    for (Operation &op : body.without_terminator())
      operations.push_back(&op);
    for (Operation *op : operations)
      clone(*op);
  }

  Value wideOf(Value value) {
    if (!wide.contains(value))
      wide.map(value,
               b.create<arith::ExtFOp>(loc, b.getF32Type(), narrow.lookup(value)).getResult());
    return wide.lookup(value);
  }
  Value narrowOf(Value value) {
    if (!narrow.contains(value))
      narrow.map(value,
                 b.create<arith::TruncFOp>(loc, value.getType(), wide.lookup(value)).getResult());
    return narrow.lookup(value);
  }

private:
  void clone(Operation &op) {
    if (converts(&op)) {
      for (Value operand : op.getOperands())
        narrow.map(operand, narrowOf(operand));
      b.clone(op, narrow);
      // A number that was written with more digits than the type has keeps them.
      if (auto rounded = dyn_cast<arith::TruncFOp>(op))
        if (auto number = rounded.getIn().getDefiningOp<arith::ConstantOp>();
            number && number.getType().isF32())
          wide.map(rounded.getOut(), narrow.lookup(rounded.getIn()));
      return;
    }
    IRMapping operands;
    for (Value operand : op.getOperands())
      operands.map(operand, isHalf(operand.getType()) ? wideOf(operand) : narrow.lookup(operand));
    Operation *copy = b.clone(op, operands);
    for (auto [old, result] : llvm::zip(op.getResults(), copy->getResults())) {
      if (!isHalf(old.getType())) {
        narrow.map(old, result);
        continue;
      }
      result.setType(b.getF32Type());
      wide.map(old, result);
    }
  }

  OpBuilder &b;
  Location loc;
  IRMapping narrow, wide;
};

//===--------------------------------------------------------------------------===//
// Operators
//===--------------------------------------------------------------------------===//

bool addsUp(Operation *op) {
  auto summing = dyn_cast<hr::OperatorInterface>(op);
  return summing && summing.addsUp();
}
bool isProduct(Operation *op) { return isa<hr::ContractOp, hr::ConvOp, hr::ConvFilterOp>(op); }
bool isMovement(Operation *op) {
  return isa<hr::ReshapeOp, hr::BroadcastOp, hr::TransposeOp, hr::SliceOp>(op);
}

/// Whether both are parts of one operator of the user's.
bool areParts(Operation *op, Operation *other) {
  return isa<NameLoc>(op->getLoc()) && op->getLoc() == other->getLoc();
}

struct ComputeInF32Pass : impl::ComputeInF32PassBase<ComputeInF32Pass> {
  using ComputeInF32PassBase::ComputeInF32PassBase;

  void runOnOperation() override {
    unrounded.clear();
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front()))
      if (op.getNumResults() == 1)
        visit(&op);
  }

private:
  void visit(Operation *op) {
    bool isResultHalf = isHalf(op->getResult(0).getType());
    if (auto map = dyn_cast<hr::MapOp>(op)) {
      if (rounds(map.getBody().front()) || (isResultHalf && takesUnrounded(op)))
        widenMap(map);
    } else if (auto compute = dyn_cast<hr::ComputeOp>(op)) {
      if (rounds(compute.getBody().front()))
        widenBody(compute);
    } else if (isResultHalf && (addsUp(op) || (products && isProduct(op)) ||
                                (isMovement(op) && takesUnrounded(op)))) {
      widenOperator(op);
    }
  }

  bool takesUnrounded(Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return unrounded.contains(operand) && areParts(operand.getDefiningOp(), op);
    });
  }

  /// The operand before it was rounded, if this is a part of what computed it.
  Value operandOf(Operation *op, Value operand) {
    auto found = unrounded.find(operand);
    return found != unrounded.end() && areParts(operand.getDefiningOp(), op) ? found->second
                                                                             : operand;
  }

  void widenMap(hr::MapOp map) {
    OpBuilder b(map);
    Location loc = map.getLoc();
    bool isResultHalf = isHalf(map.getType());
    bool isShared = isResultHalf && hasOtherParts(map);
    SmallVector<Value> inputs;
    for (Value input : map.getInputs())
      inputs.push_back(operandOf(map, input));
    Value result = createMap(b, loc, inputs, [&](OpBuilder &inner, ValueRange v) {
      BodyWidener widener(inner, loc);
      Block &body = map.getBody().front();
      widener.run(body, v);
      Value yielded = body.getTerminator()->getOperand(0);
      return isShared ? widener.wideOf(yielded) : widener.narrowOf(yielded);
    });
    result.getDefiningOp()->setDiscardableAttrs(map->getDiscardableAttrDictionary());
    replace(b, map, result);
  }

  /// In place: a compute's maps and reduction stay what they are.
  static void widenBody(hr::ComputeOp compute) {
    Block &body = compute.getBody().front();
    Operation *yield = body.getTerminator();
    SmallVector<Operation *> old;
    for (Operation &op : body.without_terminator())
      old.push_back(&op);
    OpBuilder b(yield);
    BodyWidener widener(b, compute.getLoc());
    widener.run(body, body.getArguments());
    yield->setOperand(0, widener.narrowOf(yield->getOperand(0)));
    for (Operation *op : llvm::reverse(old))
      op->erase();
  }

  void widenOperator(Operation *op) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    IRMapping operands;
    bool isNarrow = false, inPairs = pairs && addsPairs(op);
    for (Value operand : op->getOperands()) {
      Value wide = operandOf(op, operand);
      if (isHalf(wide.getType()) && (inPairs || isStreamedWeight(op, operand)))
        isNarrow = true;
      else if (isHalf(wide.getType()))
        wide = createMap(b, loc, wide, [&](OpBuilder &inner, ValueRange v) -> Value {
          return inner.create<arith::ExtFOp>(loc, inner.getF32Type(), v[0]);
        });
      operands.map(operand, wide);
    }
    Operation *wide = b.clone(*op, operands);
    wide->getResult(0).setType(inSingle(op->getResult(0).getType()));
    if (isNarrow)
      wide->setAttr("accumulator", TypeAttr::get(b.getF32Type()));
    replace(b, op, wide->getResult(0));
  }

  /// Whether sums along a dimension of this size are mostly pairs.
  static bool isMostlyPairs(AffineExpr size) {
    constexpr int64_t kEnough = 16;
    std::optional<int64_t> known = constantValue(size);
    return !known || *known % 2 == 0 || *known >= kEnough;
  }

  /// Whether both factors are bf16, and the terms of a sum adjacent in the first of them. Images
  /// will have their channels last.
  bool addsPairs(Operation *op) {
    if (!isa<hr::ContractOp, hr::ConvOp>(op))
      return false;
    bool areNarrow = llvm::all_of(op->getOperands(), [&](Value operand) {
      return getElementTypeOrSelf(operandOf(op, operand)).isBF16();
    });
    if (auto conv = dyn_cast<hr::ConvOp>(op)) {
      SymbolicShape filter = shapeOf(conv.getFilter());
      bool isFirst = conv.getLayout() == hr::ChannelLayout::First;
      return areNarrow && conv.getGroups() == 1 &&
             isMostlyPairs(filter[isFirst ? 1 : filter.size() - 2]);
    }
    auto maps =
        llvm::to_vector(cast<hr::ContractOp>(op).getMaps().getAsValueRange<AffineMapAttr>());
    if (!areNarrow || maps[0].getNumResults() == 0 || maps[2].getNumResults() == 0)
      return false;
    auto isSummed = [&](AffineExpr dim) {
      return !maps[2].isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition());
    };
    // The factor that has the columns of the result comes second.
    unsigned column = cast<AffineDimExpr>(maps[2].getResults().back()).getPosition();
    bool isSwapped = maps[0].isFunctionOfDim(column) && !maps[1].isFunctionOfDim(column);
    AffineMap first = maps[isSwapped];
    return first.getNumResults() > 0 && isSummed(first.getResults().back()) &&
           isMostlyPairs(shapeOf(op->getOperand(isSwapped)).back());
  }

  /// Whether the operand is a constant that the product mostly waits for: it stays as it is, half
  /// the memory to read, and is widened in vectors as it is multiplied. If each element is used
  /// many times it is widened once, when the program is compiled.
  static bool isStreamedWeight(Operation *op, Value operand) {
    constexpr int64_t kMaxUses = 32;
    Operation *source = operand.getDefiningOp();
    while (source && isa<hr::TransposeOp, hr::ReshapeOp>(source))
      source = source->getOperand(0).getDefiningOp();
    auto product = dyn_cast<hr::ContractOp>(op);
    if (!product || !isa_and_present<hr::ConstantOp>(source))
      return false;
    std::optional<int64_t> uses = usesOf(product, operand);
    return uses && *uses <= kMaxUses;
  }

  static bool hasOtherParts(Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) { return areParts(op, user); });
  }

  /// Other operators take the result rounded, parts of the same one as it is.
  void replace(OpBuilder &b, Operation *op, Value result) {
    Value old = op->getResult(0);
    if (result.getType() == old.getType()) {
      old.replaceAllUsesWith(result);
      op->erase();
      return;
    }
    Type element = getElementTypeOrSelf(old.getType());
    Value rounded =
        createMap(b, op->getLoc(), result, [&](OpBuilder &inner, ValueRange v) -> Value {
          return inner.create<arith::TruncFOp>(op->getLoc(), element, v[0]);
        });
    unrounded[rounded] = result;
    old.replaceAllUsesWith(rounded);
    op->erase();
  }

  llvm::DenseMap<Value, Value> unrounded;
};

} // namespace
} // namespace headrace
