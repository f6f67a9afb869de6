// Schedule "product": a block has a tile of a matrix product in registers.
//
// Before:
//   %c = contraction ; %r = max(%c + bias, 0)
//        {cuda.schedule = {kind = "product", tileM = 128, tileN = 128, tileK = 16, ...}}
// After:
//   for k-tiles: next tiles of A and B from memory to registers;
//                c[8][8] += a[8] * b[8] from shared memory, 16 times; registers to shared memory
//   r = max(c + bias, 0), stored four columns at a time
//
// Operands are in shared memory with rows of A and columns of B as the fastest dimension: a
// thread's eight rows and columns are two vectors of each.
#include "target/cuda/schedule/TemplateShapes.h"
#include "target/cuda/write/ProductTiles.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

class ThreadProduct final : public ProductTiles, ThreadProductShape {
public:
  ThreadProduct(Stage &stage, const FusedProduct &fused) : ProductTiles(stage, fused, kVector) {
    rowVectors = schedule.threadM / kVector;
    columnVectors = schedule.threadN / kVector;
    int64_t warpsAcross = schedule.tileN / (kWarpColumns * schedule.threadN);
    Value warp = div(kernel.thread(), kWarp), inWarp = rem(kernel.thread(), kWarp);
    row = mul(add(mul(div(warp, warpsAcross), kWarpRows * rowVectors), div(inWarp, kWarpColumns)),
              kVector);
    column = mul(
        add(mul(rem(warp, warpsAcross), kWarpColumns * columnVectors), rem(inWarp, kWarpColumns)),
        kVector);
  }

private:
  Type vectorType() { return VectorType::get(kVector, b.getF32Type()); }

  Value converted(Value element) override {
    return element.getType().isF32()
               ? element
               : b.create<arith::ExtFOp>(loc, b.getF32Type(), element).getResult();
  }

  /// [k][outer]; what is read along k is stored across, in different banks.
  void allocate(Side &side) override {
    side.stride = side.tile + (side.alongK ? kVector : 0);
    side.shared = kernel.shared(2 * schedule.tileK * side.stride * sizeof(float));
  }

  void store(Side &side, Value buffer, ArrayRef<Pack> packs) override {
    Value base = mul(buffer, schedule.tileK * side.stride);
    for (auto [place, pack] : llvm::zip_equal(side.places, packs)) {
      Value index = add(add(base, mul(place.kInTile, side.stride)), place.outerInTile);
      Value address = elementAt(elementAt(side.shared, b.getF32Type(), index), b.getF32Type(),
                                place.kStep * side.stride + place.outerStep);
      if (!side.alongK) {
        b.create<LLVM::StoreOp>(loc, vectorOf(pack), address, kVector * sizeof(float));
        continue;
      }
      for (auto [v, value] : llvm::enumerate(pack))
        b.create<LLVM::StoreOp>(loc, value, elementAt(address, b.getF32Type(), v * side.stride),
                                sizeof(float));
    }
  }

  SmallVector<Value> zeroSums() override {
    return SmallVector<Value>(rowVectors * kVector * columnVectors,
                              b.create<LLVM::ZeroOp>(loc, vectorType()));
  }

  Value splat(Value vectorValue, int64_t which) {
    Value value = lane(vectorValue, which), none = b.create<LLVM::UndefOp>(loc, vectorType());
    Value first = b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(0));
    Value one = b.create<LLVM::InsertElementOp>(loc, none, value, first);
    return b.create<LLVM::ShuffleVectorOp>(loc, one, none, ArrayRef<int32_t>{0, 0, 0, 0});
  }

  /// sums[(row vector, row), column vector].
  SmallVector<Value> multiply(Value buffer, SmallVector<Value> sums) override {
    auto fragment = [&](Side &side, Value first) {
      return elementAt(side.shared, b.getF32Type(),
                       add(mul(buffer, schedule.tileK * side.stride), first));
    };
    auto load = [&](Value base, int64_t index) -> Value {
      return b.create<LLVM::LoadOp>(loc, vectorType(), elementAt(base, b.getF32Type(), index),
                                    kVector * sizeof(float));
    };
    Value rows = fragment(sides[0], row), columns = fragment(sides[1], column);
    for (int64_t k = 0; k < schedule.tileK; ++k) {
      SmallVector<Value> left, right;
      for (int64_t i = 0; i < rowVectors; ++i)
        left.push_back(load(rows, k * sides[0].stride + i * kWarpRows * kVector));
      for (int64_t j = 0; j < columnVectors; ++j)
        right.push_back(load(columns, k * sides[1].stride + j * kWarpColumns * kVector));
      for (int64_t i = 0; i < rowVectors; ++i)
        for (int64_t r = 0; r < kVector; ++r) {
          Value factor = splat(left[i], r);
          for (int64_t j = 0; j < columnVectors; ++j) {
            Value &sum = sums[(i * kVector + r) * columnVectors + j];
            sum = b.create<LLVM::FMAOp>(loc, vectorType(), factor, right[j], sum);
          }
        }
    }
    return sums;
  }

  void storeResult(ArrayRef<Value> sums) override {
    for (int64_t i = 0; i < rowVectors; ++i)
      for (int64_t r = 0; r < kVector; ++r)
        for (int64_t j = 0; j < columnVectors; ++j) {
          Value sum = sums[(i * kVector + r) * columnVectors + j];
          SmallVector<Value> values;
          for (int64_t v = 0; v < kVector; ++v)
            values.push_back(lane(sum, v));
          storePoints(add(firstRow, add(row, number(i * kWarpRows * kVector + r))),
                      add(firstColumn, add(column, number(j * kWarpColumns * kVector))), values);
        }
  }

  int64_t rowVectors, columnVectors;
  Value row, column; // where the thread's fragments begin, in the tile
};

} // namespace

LogicalResult writeProduct(Stage &stage) {
  std::optional<FusedProduct> fused = fusedProductOf(stage.op);
  if (!fused)
    return stage.op->emitError("is not a matmul");
  return ThreadProduct(stage, *fused).write();
}

} // namespace headrace::cuda
