// Level 3: memory and vectors of bf16 are 16-bit integers, and conversions are written out.
//
//   %v = vector.load %m[%i] : memref<64xbf16>, vector<16xbf16>
//   %w = arith.extf %v : vector<16xbf16> to vector<16xf32>
// becomes
//   %v = vector.load %m[%i] : memref<64xi16>, vector<16xi16>
//   %e = arith.extui %v : vector<16xi16> to vector<16xi32>
//   %s = arith.shli %e, %c16 ; %w = arith.bitcast %s : vector<16xi32> to vector<16xf32>
//
// Why: bf16 is the upper half of f32. LLVM 19 has vectors of it for some lengths only, ends the
// process at others, and rounds one element at a time by calling a function.
// When it hurts: never; CPUs that round bf16 themselves save a few instructions a vector.
#include "target/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUBF16ASBITSPASS
#include "target/cpu/Passes.h.inc"

namespace {

bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

/// The type with other elements.
Type withElements(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

Type asBits(Type type) {
  return isBf16(type) ? withElements(type, IntegerType::get(type.getContext(), 16)) : type;
}

bool computes(Operation *op) {
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return !isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(op);
  return isa<vector::ReductionOp, vector::MultiDimReductionOp, vector::FMAOp, vector::ContractionOp,
             vector::OuterProductOp, vector::ScanOp>(op);
}

/// Arithmetic on numbers or vectors of them.
class Formula {
public:
  Formula(OpBuilder &b, Location loc, Type like) : b(b), loc(loc), like(like) {}

  Type f32() const { return withElements(like, b.getF32Type()); }
  Type integers(unsigned width) const { return withElements(like, b.getIntegerType(width)); }
  Value number(unsigned width, int64_t value) {
    Type type = integers(width);
    TypedAttr one = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      one = DenseElementsAttr::get(vector, Attribute(one));
    return b.create<arith::ConstantOp>(loc, one);
  }
  template <class Op, class... Args> Value op(Args &&...args) {
    return b.create<Op>(loc, std::forward<Args>(args)...);
  }

  /// The f32 value of bf16 bits.
  Value widened(Value bits) {
    Value upper = op<arith::ShLIOp>(op<arith::ExtUIOp>(integers(32), bits), number(32, 16));
    return op<arith::BitcastOp>(f32(), upper);
  }

  /// To nearest even; NaN stays NaN.
  Value rounded(Value single) {
    Value bits = op<arith::BitcastOp>(integers(32), single);
    Value sixteen = number(32, 16);
    Value odd = op<arith::AndIOp>(op<arith::ShRUIOp>(bits, sixteen), number(32, 1));
    Value sum = op<arith::AddIOp>(bits, op<arith::AddIOp>(odd, number(32, 0x7fff)));
    Value isNan = op<arith::CmpFOp>(arith::CmpFPredicate::UNO, single, single);
    Value quiet = op<arith::OrIOp>(bits, number(32, 0x400000));
    Value chosen = op<arith::SelectOp>(isNan, quiet, sum);
    return op<arith::TruncIOp>(integers(16), op<arith::ShRUIOp>(chosen, sixteen));
  }

  /// f64 in f32 with an odd last digit if others are lost: rounding it again is then as if done
  /// at once.
  Value narrowedToOdd(Value wide) {
    Value nearest = op<arith::TruncFOp>(f32(), wide),
          back = op<arith::ExtFOp>(wide.getType(), nearest);
    Value isBeyond = op<arith::CmpFOp>(arith::CmpFPredicate::OGT, op<math::AbsFOp>(back),
                                       op<math::AbsFOp>(wide));
    Value bits = op<arith::BitcastOp>(integers(32), nearest);
    Value toward = op<arith::SelectOp>(isBeyond, op<arith::SubIOp>(bits, number(32, 1)), bits);
    Value odd = op<arith::OrIOp>(toward, number(32, 1));
    Value isLost = op<arith::CmpFOp>(arith::CmpFPredicate::ONE, back, wide);
    Value magnitude = op<arith::AndIOp>(bits, number(32, 0x7fffffff));
    Value isFinite = op<arith::CmpIOp>(arith::CmpIPredicate::ne, magnitude, number(32, 0x7f800000));
    Value isOdd = op<arith::AndIOp>(isLost, isFinite);
    return op<arith::BitcastOp>(f32(), op<arith::SelectOp>(isOdd, odd, bits));
  }

private:
  OpBuilder &b;
  Location loc;
  Type like;
};

struct CpuBf16AsBitsPass : impl::CpuBf16AsBitsPassBase<CpuBf16AsBitsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Operation *> computing, converting;
    module.walk([&](Operation *op) {
      if (!llvm::any_of(op->getOperandTypes(), isBf16) &&
          !llvm::any_of(op->getResultTypes(), isBf16))
        return;
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        converting.push_back(op);
      else if (computes(op))
        computing.push_back(op);
    });
    for (Operation *op : computing)
      computeInSingle(op, converting);
    module.walk([](Operation *op) { retype(op); });
    for (Operation *op : converting)
      writeOut(op);
  }

private:
  /// Around an operation in f32, conversions.
  static void computeInSingle(Operation *op, SmallVectorImpl<Operation *> &converting) {
    OpBuilder b(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isBf16(operand.get().getType())) {
        auto wide = b.create<arith::ExtFOp>(
            op->getLoc(), withElements(operand.get().getType(), b.getF32Type()), operand.get());
        converting.push_back(wide);
        operand.set(wide);
      }
    b.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      Type type = result.getType();
      if (!isBf16(type))
        continue;
      result.setType(withElements(type, b.getF32Type()));
      auto narrow = b.create<arith::TruncFOp>(op->getLoc(), type, result);
      converting.push_back(narrow);
      result.replaceAllUsesExcept(narrow, narrow);
    }
  }

  /// Operands of the CPU's own instructions stay as these have them.
  static void retype(Operation *op) {
    if (isa<LLVM::BitcastOp>(op))
      return;
    for (Value result : op->getResults())
      result.setType(asBits(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(asBits(argument.getType()));
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      FunctionType type = function.getFunctionType();
      function.setFunctionType(FunctionType::get(op->getContext(),
                                                 llvm::map_to_vector(type.getInputs(), asBits),
                                                 llvm::map_to_vector(type.getResults(), asBits)));
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op);
        constant && isBf16(constant.getValue().getType()))
      constant.setValueAttr(bitsOf(constant.getValue()));
  }

  static TypedAttr bitsOf(TypedAttr value) {
    Type type = asBits(value.getType());
    if (auto number = dyn_cast<FloatAttr>(value))
      return IntegerAttr::get(type, number.getValue().bitcastToAPInt());
    return cast<DenseElementsAttr>(value).bitcast(getElementTypeOrSelf(type));
  }

  static void writeOut(Operation *op) {
    OpBuilder b(op);
    Value in = op->getOperand(0), out = op->getResult(0);
    Formula formula(b, op->getLoc(), out.getType());
    Value result;
    if (isa<arith::ExtFOp>(op)) {
      result = formula.widened(in);
      if (result.getType() != out.getType())
        result = formula.op<arith::ExtFOp>(out.getType(), result);
    } else {
      bool isWide = getElementTypeOrSelf(in.getType()).isF64();
      result = formula.rounded(isWide ? formula.narrowedToOdd(in) : in);
    }
    out.replaceAllUsesWith(result);
    op->erase();
  }
};

} // namespace
} // namespace headrace
