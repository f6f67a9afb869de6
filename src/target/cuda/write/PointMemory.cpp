// Elements of tensors in memory: which of them are adjacent, loads and stores.
#include "target/cuda/write/PointWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace headrace::cuda {

constexpr unsigned kLoadBytes = 16; // the most that one instruction loads

PointWriter::Access PointWriter::accessOf(const TensorMemory &memory, ArrayRef<AffineExpr> point) {
  MLIRContext *context = kernel.context();
  AffineExpr offset = constantDim(0, context), stride = constantDim(1, context);
  for (auto [size, place] : llvm::reverse(llvm::zip_equal(memory.shape, point))) {
    offset = offset + place * stride;
    stride = stride * size;
  }
  offset = simplified(offset);
  Access access{offset, 1, std::nullopt};
  if (laneCount == 1)
    return access;
  access.step = constantValue(simplified(shifted(offset, 1) - offset));
  unsigned bits = memory.element.getIntOrFloatBitWidth();
  if (access.step != 1 || bits < 8)
    return access;
  AffineExpr rest = simplified(offset.replace(laneExpr, constantDim(0, context)));
  unsigned most = std::min(laneMultiple, kLoadBytes * 8 / bits);
  while (access.run * 2 <= most && rest.isMultipleOf(access.run * 2))
    access.run *= 2;
  return access;
}

/// An expression as one that is never negative, and a number to be added.
static std::pair<AffineExpr, int32_t> withoutConstant(AffineExpr expr) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return {expr, 0};
  auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS());
  if (!constant || constant.getValue() < 0 || !llvm::isInt<32>(constant.getValue()))
    return {expr, 0};
  bool maySink = false; // below zero without the number
  sum.getLHS().walk([&](AffineExpr part) {
    auto number = dyn_cast<AffineConstantExpr>(part);
    maySink |= number && number.getValue() < 0;
  });
  if (maySink)
    return {expr, 0};
  return {sum.getLHS(), static_cast<int32_t>(constant.getValue())};
}

/// A number that is added to the offset is part of the instruction: addresses that differ by it
/// share a register.
Value PointWriter::elementAddress(const TensorMemory &memory, AffineExpr offset, unsigned lane) {
  Location loc = kernel.loc();
  auto [variable, constant] = withoutConstant(simplified(shifted(offset, lane)));
  Value address = kernel.address(memory.place, memory.written);
  auto moved = [&](LLVM::GEPArg by) {
    return b.create<LLVM::GEPOp>(loc, address.getType(), storedAs(memory.element), address,
                                 ArrayRef<LLVM::GEPArg>{by}, /*inbounds=*/true);
  };
  address = moved(Value(b.create<arith::IndexCastUIOp>(loc, b.getI64Type(), value(variable))));
  return constant ? moved(constant).getResult() : address;
}

/// The address of a lane, from that of the first if lanes lie at equal distances.
Value PointWriter::laneAddress(const TensorMemory &memory, const Access &access, Value &first,
                               unsigned lane) {
  if (lane > 0 && first && access.step)
    return b.create<LLVM::GEPOp>(kernel.loc(), first.getType(), storedAs(memory.element), first,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(lane * *access.step)},
                                 /*inbounds=*/true);
  Value address = elementAddress(memory, access.offset, lane);
  if (lane == 0)
    first = address;
  return address;
}

Pack PointWriter::load(const TensorMemory &memory, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  Access access = accessOf(memory, point);
  Type element = storedAs(memory.element);
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  Pack result;
  Value first;
  for (unsigned lane = 0; lane < laneCount; lane += access.run) {
    if (access.step == 0 && lane > 0) {
      result.push_back(result.front());
      continue;
    }
    Value address = laneAddress(memory, access, first, lane);
    if (access.run == 1) {
      result.push_back(b.create<LLVM::LoadOp>(loc, element, address, bytes));
      continue;
    }
    auto type = VectorType::get(access.run, element);
    Value loaded = b.create<LLVM::LoadOp>(loc, type, address, bytes * access.run);
    for (unsigned i = 0; i < access.run; ++i)
      result.push_back(b.create<LLVM::ExtractElementOp>(
          loc, loaded, b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(i))));
  }
  return result;
}

void PointWriter::store(const TensorMemory &memory, ArrayRef<AffineExpr> point,
                        const Pack &values) {
  Location loc = kernel.loc();
  Access access = accessOf(memory, point);
  Type element = storedAs(memory.element);
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  Value first;
  for (unsigned lane = 0; lane < laneCount; lane += access.run) {
    Value stored = values[lane];
    if (access.run > 1) {
      stored = b.create<LLVM::UndefOp>(loc, VectorType::get(access.run, element));
      for (unsigned i = 0; i < access.run; ++i)
        stored = b.create<LLVM::InsertElementOp>(
            loc, stored, values[lane + i],
            b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(i)));
    }
    b.create<LLVM::StoreOp>(loc, stored, laneAddress(memory, access, first, lane),
                            bytes * access.run);
  }
}

} // namespace headrace::cuda
