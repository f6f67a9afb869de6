// Reductions and shuffles among threads, and how indices are given to them.
#include "target/cuda/write/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace headrace::cuda {

Point delinearized(AffineExpr index, ArrayRef<AffineExpr> sizes) {
  Point point(sizes.size());
  AffineExpr rest = index;
  for (size_t i = sizes.size(); i-- > 1;) {
    point[i] = rest % sizes[i];
    rest = rest.floorDiv(sizes[i]);
  }
  if (!sizes.empty())
    point[0] = rest;
  return point;
}

Point asCoordinates(PointWriter &points, ArrayRef<AffineExpr> exprs) {
  Point coordinates;
  for (AffineExpr expr : exprs)
    coordinates.push_back(constantValue(expr) ? expr : points.addCoordinate(points.value(expr)));
  return coordinates;
}

void onlyWhere(KernelWriter &kernel, Value condition) {
  OpBuilder &b = kernel.builder();
  auto branch = b.create<scf::IfOp>(kernel.loc(), condition, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
}

/// Threads exchange 32 bits at a time.
Value shuffleXor(KernelWriter &kernel, Value value, int64_t mask) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto word = [&](int64_t number) -> Value {
    return b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(number));
  };
  auto exchange = [&](Value part) -> Value {
    return b.create<NVVM::ShflOp>(loc, part.getType(), word(-1), part, word(mask), word(31),
                                  NVVM::ShflKind::bfly, UnitAttr());
  };
  if (bits == 32)
    return exchange(value);
  auto integer = b.getIntegerType(bits);
  Value plain = isa<FloatType>(type) ? b.create<arith::BitcastOp>(loc, integer, value) : value;
  Value result;
  if (bits < 32) {
    Value wide = exchange(b.create<arith::ExtUIOp>(loc, b.getI32Type(), plain));
    result = b.create<arith::TruncIOp>(loc, integer, wide);
  } else {
    Value shift = b.create<arith::ConstantIntOp>(loc, 32, 64);
    Value low = exchange(b.create<arith::TruncIOp>(loc, b.getI32Type(), plain));
    Value high = exchange(b.create<arith::TruncIOp>(loc, b.getI32Type(),
                                                    b.create<arith::ShRUIOp>(loc, plain, shift)));
    Value upper = b.create<arith::ShLIOp>(loc, b.create<arith::ExtUIOp>(loc, integer, high), shift);
    result = b.create<arith::OrIOp>(loc, b.create<arith::ExtUIOp>(loc, integer, low), upper);
  }
  return isa<FloatType>(type) ? b.create<arith::BitcastOp>(loc, type, result) : result;
}

Value combineThreads(KernelWriter &kernel, Operation *combiner, Value value, int64_t lanes) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  for (int64_t mask = std::min(lanes, kWarp) / 2; mask > 0; mask /= 2)
    value = combine(b, combiner, value, shuffleXor(kernel, value, mask));
  if (lanes <= kWarp)
    return value;
  // One value a warp through shared memory; then every warp combines them in the same order.
  int64_t warps = lanes / kWarp;
  Type type = value.getType();
  unsigned bytes = std::max(1u, type.getIntOrFloatBitWidth() / 8);
  Value memory = kernel.shared(warps * bytes);
  auto element = [&](Value index) -> Value {
    Value wide = b.create<arith::IndexCastUIOp>(loc, b.getI64Type(), index);
    return b.create<LLVM::GEPOp>(loc, memory.getType(), type, memory, ArrayRef<LLVM::GEPArg>{wide},
                                 /*inbounds=*/true);
  };
  Value warp = b.create<arith::DivUIOp>(loc, kernel.thread(), kernel.number(kWarp));
  Value lane = b.create<arith::RemUIOp>(loc, kernel.thread(), kernel.number(kWarp));
  Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, lane, kernel.number(0));
  {
    OpBuilder::InsertionGuard guard(b);
    onlyWhere(kernel, isFirst);
    b.create<LLVM::StoreOp>(loc, value, element(warp), bytes);
  }
  b.create<gpu::BarrierOp>(loc);
  Value mine = b.create<arith::RemUIOp>(loc, lane, kernel.number(warps));
  value = b.create<LLVM::LoadOp>(loc, type, element(mine), bytes);
  for (int64_t mask = warps / 2; mask > 0; mask /= 2)
    value = combine(b, combiner, value, shuffleXor(kernel, value, mask));
  return value;
}

} // namespace headrace::cuda
