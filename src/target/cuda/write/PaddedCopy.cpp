#include "target/cuda/write/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace headrace::cuda {

/// A thread has 16 bytes of a row; only the last of a row asks for each element.
TensorMemory withRowsOfMultiple(Stage &stage, const TensorMemory &memory, int64_t multiple,
                                const std::string &name) {
  constexpr int64_t kThreads = 256;
  unsigned bytes = memory.element.getIntOrFloatBitWidth() / 8;
  int64_t width = 16 / bytes;
  AffineExpr size = memory.shape.back();
  if (size.isMultipleOf(multiple))
    return memory;
  KernelWriter kernel(stage.module, stage.op->getLoc(), name, kThreads);
  PointWriter points(kernel, stage.memories);
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  TensorMemory padded = memory;
  SmallVector<AffineExpr> sizes(memory.shape); // in vectors
  padded.shape.back() = size.ceilDiv(multiple) * multiple;
  sizes.back() = size.ceilDiv(multiple) * (multiple / width);
  padded.place = stage.allocate(elementCount(padded.shape, kernel.context()) * bytes);
  padded.written = true;

  AffineExpr items = elementCount(sizes, kernel.context());
  Value first = b.create<arith::MulIOp>(loc, kernel.block(), kernel.number(kThreads));
  AffineExpr item = points.addCoordinate(b.create<arith::AddIOp>(loc, first, kernel.thread()));
  onlyWhere(kernel, points.less(item, items));
  Point place = asCoordinates(points, delinearized(item, sizes));
  place.back() = points.addCoordinate(points.value(place.back() * width));
  auto loadWhole = [&] {
    points.setLanes(place.back(), width);
    Pack values = points.load(memory, place);
    points.setLanes({}, 1);
    return values;
  };
  auto loadEnd = [&] {
    Pack values;
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(memory.element));
    for (int64_t v = 0; v < width; ++v) {
      Value column = points.value(place.back() + v), last = points.value(size - 1);
      Point one(place);
      one.back() = points.addCoordinate(b.create<arith::MinUIOp>(loc, column, last));
      Value isInside = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, column, last);
      Value value = points.load(memory, one).front();
      values.push_back(b.create<arith::SelectOp>(loc, isInside, value, zero));
    }
    return values;
  };
  Pack values = points.choose(points.less(place.back() + (width - 1), size),
                              SmallVector<Type>(width, memory.element), loadWhole, loadEnd);
  points.setLanes(place.back(), width);
  points.store(padded, place, values);
  stage.launches.push_back(kernel.finish({items.ceilDiv(kThreads)}));
  padded.written = false;
  return padded;
}

} // namespace headrace::cuda
