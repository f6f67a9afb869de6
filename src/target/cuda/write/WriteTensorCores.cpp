// Schedule "tensorcores": a matrix product of bf16 or f16, a warp at a time (mma.sync), for every
// device with such cores and operands of any form.
//
// Before:
//   %c = contraction of bf16 ; %r = f(%c)
//        {cuda.schedule = {kind = "tensorcores", tileM = 128, tileN = 128, tileK = 32,
//                          threadM = 64, threadN = 32}}
// After:
//   for k-tiles: next tiles of A and B from memory to registers;
//                a warp's 64 x 32 sums += 16 x 8 x 16 products from shared memory;
//                registers to shared memory
//   r = f(c), stored two columns at a time
//
// Both operands are in shared memory with k as the fastest dimension: pairs along it are what the
// instruction takes. Rows are 16 bytes longer than they need to be: the eight rows that a warp
// reads are in different banks.
#include "target/cuda/schedule/TemplateShapes.h"
#include "target/cuda/write/ProductTiles.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

class TensorCoreProduct final : public ProductTiles, TensorCoreShape {
public:
  TensorCoreProduct(Stage &stage, const FusedProduct &fused)
      : ProductTiles(stage, fused, kVector),
        element(cast<RankedTensorType>(product.a->get().getType()).getElementType()),
        rowTiles(schedule.threadM / kRows), columnTiles(schedule.threadN / kColumns) {
    int64_t warpsAcross = schedule.tileN / schedule.threadN;
    Value warp = div(kernel.thread(), kWarp), inWarp = rem(kernel.thread(), kWarp);
    warpRow = mul(div(warp, warpsAcross), schedule.threadM);
    warpColumn = mul(rem(warp, warpsAcross), schedule.threadN);
    group = div(inWarp, 4);
    pair = mul(rem(inWarp, 4), 2);
  }

private:
  Value converted(Value value) override { return value; }

  void allocate(Side &side) override {
    side.stride = schedule.tileK + kVector;
    side.shared = kernel.shared(2 * side.tile * side.stride * kElementBytes);
  }

  void store(Side &side, Value buffer, ArrayRef<Pack> packs) override {
    Value base = mul(buffer, side.tile * side.stride);
    for (auto [place, pack] : llvm::zip_equal(side.places, packs)) {
      Value index = add(add(base, mul(place.outerInTile, side.stride)), place.kInTile);
      Value address = elementAt(elementAt(side.shared, element, index), element,
                                place.outerStep * side.stride + place.kStep);
      if (side.alongK) {
        b.create<LLVM::StoreOp>(loc, vectorOf(pack), address, kVector * kElementBytes);
        continue;
      }
      for (auto [v, value] : llvm::enumerate(pack))
        b.create<LLVM::StoreOp>(loc, value, elementAt(address, element, v * side.stride),
                                kElementBytes);
    }
  }

  SmallVector<Value> zeroSums() override {
    return SmallVector<Value>(rowTiles * columnTiles * 4,
                              b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(0)));
  }

  /// Two neighbours along k, as the instruction takes them.
  Value pairAt(Value base, int64_t index) {
    Type type = element.isBF16() ? b.getI32Type() : Type(VectorType::get(2, element));
    return b.create<LLVM::LoadOp>(loc, type, elementAt(base, element, index), 4);
  }

  /// sums[row tile, column tile, 4]: two of a row, two of the row eight below.
  SmallVector<Value> multiply(Value buffer, SmallVector<Value> sums) override {
    auto fragment = [&](Side &side, Value first) {
      Value index = add(mul(add(first, group), side.stride), pair);
      return elementAt(side.shared, element, add(mul(buffer, side.tile * side.stride), index));
    };
    Value rows = fragment(sides[0], warpRow), columns = fragment(sides[1], warpColumn);
    StringRef name = element.isBF16() ? "llvm.nvvm.mma.m16n8k16.row.col.bf16"
                                      : "llvm.nvvm.mma.m16n8k16.row.col.f32.f32";
    auto sumsType =
        LLVM::LLVMStructType::getLiteral(kernel.context(), SmallVector<Type>(4, b.getF32Type()));
    for (int64_t k = 0; k < schedule.tileK; k += kDepth) {
      SmallVector<Value> right;
      for (int64_t j = 0; j < columnTiles; ++j)
        for (int64_t half = 0; half < 2; ++half)
          right.push_back(pairAt(columns, j * kColumns * sides[1].stride + k + half * kDepth / 2));
      for (int64_t i = 0; i < rowTiles; ++i) {
        SmallVector<Value> left;
        for (int64_t half = 0; half < 2; ++half)
          for (int64_t below = 0; below < 2; ++below)
            left.push_back(pairAt(rows, (i * kRows + below * kRows / 2) * sides[0].stride + k +
                                            half * kDepth / 2));
        for (int64_t j = 0; j < columnTiles; ++j) {
          SmallVector<Value> operands(left);
          operands.append({right[2 * j], right[2 * j + 1]});
          auto sum = sums.begin() + (i * columnTiles + j) * 4;
          operands.append(sum, sum + 4);
          Value result =
              b.create<LLVM::CallIntrinsicOp>(loc, sumsType, name, operands).getResult(0);
          for (int64_t v = 0; v < 4; ++v)
            sum[v] = b.create<LLVM::ExtractValueOp>(loc, result, v);
        }
      }
    }
    return sums;
  }

  void storeResult(ArrayRef<Value> sums) override {
    for (int64_t i = 0; i < rowTiles; ++i)
      for (int64_t below = 0; below < 2; ++below)
        for (int64_t j = 0; j < columnTiles; ++j) {
          Value row = add(add(firstRow, warpRow), add(group, number(i * kRows + below * 8)));
          Value column = add(add(firstColumn, warpColumn), add(pair, number(j * kColumns)));
          storePoints(row, column, sums.slice((i * columnTiles + j) * 4 + below * 2, 2));
        }
  }

  Type element;
  int64_t rowTiles, columnTiles; // of instructions in a warp
  Value warpRow, warpColumn;     // where the warp's sums begin, in the tile
  Value group, pair;             // the thread's row and first column among a warp's
};

} // namespace

LogicalResult writeTensorCores(Stage &stage) {
  std::optional<FusedProduct> fused = fusedProductOf(stage.op);
  if (!fused)
    return stage.op->emitError("is not a matmul");
  return TensorCoreProduct(stage, *fused).write();
}

} // namespace headrace::cuda
