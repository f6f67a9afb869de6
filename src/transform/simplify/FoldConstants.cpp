// Evaluates operators of constants, in the order of the program.
//
//   %w = hr.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
//   %t = hr.transpose %w [1, 0]
// becomes
//   %t = hr.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
//
// Reshapes share the constant's memory, transposes copy in the constant's own type, everything else
// goes through the reference evaluation, whose results are rounded once.
//
// Why: the work is done once at compile time instead of in every run.
// When it hurts: a result far larger than its operands (a broadcast, a pad) would cost more to keep
// and read than to compute; such operators stay. So do those that would take memory or time out of
// proportion to the constants that the program has: a few bytes of a file can describe a tensor of
// any size, and folding must not build it.
#include "dialect/ConstantData.h"
#include "dialect/ConstantPool.h"
#include "dialect/SymbolicShape.h"
#include "dialect/reference/Reference.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/MappedFile.h"
#include "transform/Passes.h"
#include "transform/simplify/ConstantMovement.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace headrace {

#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "transform/Passes.h.inc"

namespace {

/// How many bytes one operator may add to the program, or need next to stored constants to be
/// evaluated; and all operators together, besides as much as the program's own constants.
constexpr int64_t kMaxGrowth = 16 << 20, kMaxTotalGrowth = 256 << 20;
/// Constants that are worth being given up at once.
constexpr int64_t kLarge = 1 << 20;
/// Larger results are not evaluated in a program that is never run.
constexpr int64_t kReadByPasses = 64 << 10;
/// How many scalar operations evaluating an operator may take, besides some for each stored byte.
constexpr int64_t kMaxOperations = 1 << 28, kOperationsPerByte = 256;

/// Whether a result depends on the program's dynamic dimensions, which are not known here.
bool dependsOnSymbols(Operation *op) {
  if (!cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape())
    return true;
  if (auto slice = dyn_cast<hr::SliceOp>(op); slice && !slice.getStarts().isConstant())
    return true;
  if (auto compute = dyn_cast<hr::ComputeOp>(op); compute && !compute.getDomain().isConstant())
    return true;
  WalkResult walk = op->walk([](hr::SizeOp size) {
    return size.getExpr().isConstant() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return walk.wasInterrupted();
}

int64_t storedBytes(ElementsAttr value) {
  int64_t elements = value.isSplat() ? 1 : value.getNumElements();
  return elements * static_cast<int64_t>(sizeOf(toDType(value.getElementType())));
}

int64_t storedBytes(ArrayRef<ElementsAttr> values) {
  int64_t total = 0;
  for (ElementsAttr value : values)
    total += storedBytes(value);
  return total;
}

/// The bytes by which the operands, each element written out, and the result exceed what is stored.
/// Sizes are counted as floats: two large ones have a product beyond any integer.
double growth(RankedTensorType result, ArrayRef<ElementsAttr> operands) {
  double bytes = static_cast<double>(*constantValue(byteCount(result)));
  for (ElementsAttr operand : operands)
    if (operand.isSplat())
      bytes += static_cast<double>(operand.getNumElements()) *
               static_cast<double>(sizeOf(toDType(operand.getElementType())));
  return bytes - static_cast<double>(storedBytes(operands));
}

bool takesTooLong(hr::OperatorInterface op, ArrayRef<ElementsAttr> operands) {
  auto operations = constantValue(op.getMovement().operations(op->getContext()));
  return !operations || *operations < 0 ||
         *operations - kMaxOperations > kOperationsPerByte * storedBytes(operands);
}

/// Whether nothing asks for the elements of the result: the program is never run, and no pass reads
/// that many numbers. What is all one number stays that, and checks judge elements.
bool canStayUnknown(Operation *op, ArrayRef<ElementsAttr> operands, RankedTensorType type) {
  bool isWeight = isa<FloatType>(type.getElementType()) || type.getElementType().isInteger(8);
  return isWeight && *constantValue(byteCount(type)) >= kReadByPasses &&
         op->getParentOp()->hasAttr(kForecastAttr) && !isa<hr::CheckOp, hr::ReshapeOp>(op) &&
         llvm::none_of(operands, [](ElementsAttr operand) { return operand.isSplat(); });
}

/// Movement of a constant in its own type; null if the operator computes.
ElementsAttr move(Operation *op, ElementsAttr operand, RankedTensorType type) {
  // A broadcast of one number is read as that number; as a constant it could become a buffer.
  bool staysSmall = !isa<hr::BroadcastOp>(op) || growth(type, operand) <= kMaxGrowth;
  if (isa<hr::TransposeOp, hr::ReshapeOp, hr::BroadcastOp, hr::SliceOp>(op) && staysSmall)
    if (SplatElementsAttr splat = asSplat(operand))
      return splat.resizeSplat(type);
  if (isa<hr::ReshapeOp>(op))
    return reshapeConstant(operand, type);
  if (canStayUnknown(op, operand, type) && isa<hr::TransposeOp>(op))
    return unknownConstant(type);
  if (auto transpose = dyn_cast<hr::TransposeOp>(op))
    return tensorAttribute(transposedCopy(constantTensor(operand), transpose.getPermutation()),
                           type);
  return {};
}

ElementsAttr evaluate(hr::OperatorInterface op, ArrayRef<ElementsAttr> operands,
                      RankedTensorType type) {
  DType dtype = toDType(type.getElementType());
  if (type.getNumElements() == 0) // whatever the operands, which may be large
    return tensorAttribute(Tensor::allocate(dtype, Shape(type.getShape())), type);
  SmallVector<Tensor> inputs;
  for (ElementsAttr operand : operands)
    inputs.push_back(reference::widened(constantTensor(operand), operand.getElementType()));
  Tensor result = op.evaluate(inputs, /*symbols=*/{});
  return tensorAttribute(reference::narrowed(result, dtype), type);
}

/// The value of an operator of constants; null if it is not one or better stays. `room`: the
/// bytes that may still be added to the program.
ElementsAttr valueOf(hr::OperatorInterface op, double &room) {
  SmallVector<ElementsAttr> operands;
  for (Value operand : op->getOperands()) {
    auto constant = operand.getDefiningOp<hr::ConstantOp>();
    if (!constant)
      return {};
    operands.push_back(constant.getValue());
  }
  if (operands.empty() || !isPure(op) || dependsOnSymbols(op))
    return {};
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (operands.size() == 1)
    if (ElementsAttr moved = move(op, operands.front(), type))
      return moved;
  double added = growth(type, operands);
  if (added > kMaxGrowth || added > room || takesTooLong(op, operands))
    return {};
  room -= std::max(added, 0.0);
  if (canStayUnknown(op, operands, type))
    return unknownConstant(type);
  return evaluate(op, operands, type);
}

struct FoldConstantsPass : impl::FoldConstantsPassBase<FoldConstantsPass> {
  void runOnOperation() override {
    SmallVector<hr::OperatorInterface> operators;
    double room = kMaxTotalGrowth;
    getOperation().walk([&](hr::OperatorInterface op) {
      operators.push_back(op);
      if (auto constant = dyn_cast<hr::ConstantOp>(op.getOperation()))
        room += static_cast<double>(storedBytes(constant.getValue()));
    });
    for (hr::OperatorInterface op : operators) {
      if (isInterrupted())
        return;
      // The compiler's framework passes no exceptions on.
      try {
        if (ElementsAttr value = valueOf(op, room))
          replaceWithConstant(op, value);
      } catch (const Interrupted &) {
        return;
      } catch (const std::exception &error) {
        if (isa<hr::CheckOp>(op))
          continue; // stays, and fails when the program runs
        op.emitError("cannot evaluate an operator of constants: ") << error.what();
        return signalPassFailure();
      }
    }
  }

  void replaceWithConstant(Operation *op, ElementsAttr value) {
    OpBuilder builder(op);
    op->getResult(0).replaceAllUsesWith(builder.create<hr::ConstantOp>(op->getLoc(), value));
    SetVector<Operation *> constants;
    for (Value operand : op->getOperands())
      constants.insert(operand.getDefiningOp());
    op->erase();
    for (Operation *constant : constants)
      if (constant->use_empty()) {
        ElementsAttr unused = cast<hr::ConstantOp>(constant).getValue();
        constant->erase();
        if (storedBytes(unused) >= kLarge)
          giveUp(unused);
      }
  }

  /// Large constants go one by one, so that no two copies of all weights are there at a time.
  void giveUp(ElementsAttr value) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(value);
    if (!resource)
      return;
    StringRef key = resource.getRawHandle().getKey();
    bool isUsed = false;
    getOperation().walk([&](hr::ConstantOp other) {
      auto shared = dyn_cast<DenseResourceElementsAttr>(other.getValue());
      isUsed |= shared && shared.getRawHandle().getKey() == key;
    });
    if (auto file = MappedFile::holding(resource.getRawHandle().getBlob()->getData().data()))
      file->forgetPages();
    if (!isUsed)
      ConstantPool::of(&getContext()).giveUp(key);
  }
};

} // namespace
} // namespace headrace
