// Elements of tensors in memory: which of them lie beside each other, loads and stores.
#include "target/cuda/PointWriter.h"

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

Value PointWriter::elementAddress(const TensorMemory &memory, AffineExpr offset, unsigned lane) {
  Location loc = kernel.loc();
  Value base = kernel.address(memory.place, memory.written);
  Value index = b.create<arith::IndexCastUIOp>(loc, b.getI64Type(), value(offset, lane));
  return b.create<LLVM::GEPOp>(loc, base.getType(), storedAs(memory.element), base,
                               ArrayRef<LLVM::GEPArg>{index}, /*inbounds=*/true);
}

/// The address of a lane, from that of the first where lanes lie at equal distances.
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
