// Level 1: every number becomes one that CPUs compute with.
//
//   func.func @main(%x: tensor<4xui8>) -> tensor<4xui8> {
//     %y = hr.map(%x) : (tensor<4xui8>) -> tensor<4xui8> {
//     ^bb0(%a: ui8):
//       %i = hr.bits %a : ui8 -> i8
//       %d = arith.divui %i, %i : i8
//       %u = hr.bits %d : i8 -> ui8
//       hr.yield %u : ui8
//     }
// becomes
//   func.func @main(%x: tensor<4xi8> {hr.type = ui8}) -> (tensor<4xi8> {hr.type = ui8}) {
//     %y = hr.map(%x) : (tensor<4xi8>) -> tensor<4xi8> {
//     ^bb0(%a: i8):
//       %d = arith.divui %a, %a : i8
//       hr.yield %d : i8
//     }
//
// Why: kernels and vectors know signless integers and 16-bit floats or more. Unsigned numbers,
// 4-bit numbers and float8 are what their operations make of them; nothing below has to know of
// such types. Products keep in attributes which operands they widen without a sign.
// When it hurts: never; nothing is computed or moved.
#include "dialect/ConstantData.h"
#include "dialect/SymbolicShape.h"
#include "dialect/scalar/StorageType.h"
#include "runtime/system/Error.h"
#include "transform/Passes.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_LEGALIZETYPESPASS
#include "transform/Passes.h.inc"

namespace {

Type plain(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.clone(storageType(tensor.getElementType())) : storageType(type);
}

bool isUnsigned(Value value) { return getElementTypeOrSelf(value).isUnsignedInteger(); }

/// The number as the integer that stores it.
TypedAttr plain(TypedAttr number) {
  Type storage = storageType(number.getType());
  if (storage == number.getType())
    return number;
  unsigned width = storage.getIntOrFloatBitWidth();
  if (auto real = dyn_cast<FloatAttr>(number))
    return IntegerAttr::get(storage, real.getValue().bitcastToAPInt().zextOrTrunc(width));
  APInt value = cast<IntegerAttr>(number).getValue();
  return IntegerAttr::get(storage, number.getType().isUnsignedInteger() ? value.zextOrTrunc(width)
                                                                        : value.sextOrTrunc(width));
}

/// The constant as one of the legal type, in the same memory.
ElementsAttr plain(ElementsAttr value) {
  auto type = cast<RankedTensorType>(plain(value.getShapedType()));
  if (type == value.getShapedType())
    return value;
  if (isSmallInteger(value.getElementType()))
    return tensorAttribute(constantTensor(value).viewedAs(toDType(type.getElementType())), type);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  return DenseElementsAttr::getFromRawBuffer(type, cast<DenseElementsAttr>(value).getRawData());
}

struct LegalizeTypesPass : impl::LegalizeTypesPassBase<LegalizeTypesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    WalkResult comparisons = function.walk([](Operation *op) {
      auto reduce = dyn_cast<hr::ReduceOp>(op);
      auto pool = dyn_cast<hr::PoolOp>(op);
      bool compares = (reduce && reduce.getKind() != hr::ReduceKind::Sum &&
                       reduce.getKind() != hr::ReduceKind::Prod) ||
                      (pool && pool.getKind() != hr::PoolKind::Sum);
      if (!compares || !isUnsigned(op->getResult(0)))
        return WalkResult::advance();
      op->emitError("expected signed integers to compare or divide, got unsigned ones");
      return WalkResult::interrupt();
    });
    if (comparisons.wasInterrupted())
      return signalPassFailure();
    retypeInterface(function);
    SmallVector<hr::BitsOp> bits;
    function.walk([&](Operation *op) {
      if (op == function)
        return;
      if (auto each = dyn_cast<hr::BitsOp>(op))
        bits.push_back(each);
      else
        retypeAttributes(op);
    });
    // Attributes above still saw the operands' signs.
    function.walk([](Operation *op) {
      for (Value result : op->getResults())
        result.setType(plain(result.getType()));
      for (Region &region : op->getRegions())
        for (BlockArgument argument : region.getArguments())
          argument.setType(plain(argument.getType()));
    });
    for (hr::BitsOp each : bits) {
      each.replaceAllUsesWith(each.getInput());
      each.erase();
    }
  }

  /// The types that the user sees stay written on arguments and results.
  static void retypeInterface(func::FuncOp function) {
    SmallVector<Type> inputs, results;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      inputs.push_back(plain(type));
      if (type != inputs.back())
        function.setArgAttr(i, kTypeAttr, TypeAttr::get(getElementTypeOrSelf(type)));
    }
    for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
      results.push_back(plain(type));
      if (type != results.back())
        function.setResultAttr(i, kTypeAttr, TypeAttr::get(getElementTypeOrSelf(type)));
    }
    function.setFunctionType(FunctionType::get(function.getContext(), inputs, results));
  }

  static void retypeAttributes(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([](hr::ConstantOp constant) { constant.setValueAttr(plain(constant.getValue())); })
        .Case([](hr::PadOp pad) { pad.setValueAttr(plain(pad.getValue())); })
        .Case([](hr::ComputeOp compute) {
          if (TypedAttr initial = compute.getInitialAttr())
            compute.setInitialAttr(plain(initial));
        })
        .Case([](hr::ContractOp contract) {
          contract.setUnsignedLhs(contract.getUnsignedLhs() || isUnsigned(contract.getLhs()));
          contract.setUnsignedRhs(contract.getUnsignedRhs() || isUnsigned(contract.getRhs()));
        })
        .Case([](hr::ConvOp conv) {
          conv.setUnsignedInput(conv.getUnsignedInput() || isUnsigned(conv.getInput()));
          conv.setUnsignedFilter(conv.getUnsignedFilter() || isUnsigned(conv.getFilter()));
        });
  }
};

} // namespace
} // namespace headrace
