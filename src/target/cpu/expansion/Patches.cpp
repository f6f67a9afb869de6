#include "target/cpu/expansion/Patches.h"

#include "dialect/SymbolicShape.h"
#include "runtime/library/BytePatches.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace headrace {

int64_t positionsOf(hr::ConvOp op) {
  int64_t positions = 1;
  SymbolicShape filter = shapeOf(op.getFilter());
  for (AffineExpr size : ArrayRef(filter).drop_back(2))
    positions *= *constantValue(size);
  return positions;
}

bool hasPatches(hr::ConvOp op) {
  constexpr int64_t kMaxPositions = 64;
  return op.getLayout() == hr::ChannelLayout::Last && op.getGroups() == 1 && !op.isPadded() &&
         positionsOf(op) <= kMaxPositions;
}

hr::ContractOp convolutionAsProduct(hr::ConvOp op, RewriterBase &rewriter) {
  rewriter.setInsertionPoint(op);
  MLIRContext *context = op.getContext();
  SymbolicShape filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
  size_t spatial = filter.size() - 2;
  Type element = getElementTypeOrSelf(op.getInput());

  SymbolicShape patchShape(ArrayRef(result).drop_back());
  patchShape.push_back(filter[spatial]);
  SmallVector<int64_t> steps{1};
  llvm::append_range(steps, op.getStrides());
  steps.push_back(1);
  SmallVector<Value> patches;
  for (int64_t position = 0; position < positionsOf(op); ++position) {
    SmallVector<AffineExpr> starts(filter.size(), constantDim(0, context));
    int64_t rest = position;
    for (size_t i = spatial; i-- > 0;) {
      int64_t window = *constantValue(filter[i]);
      starts[i + 1] = constantDim(rest % window * op.getDilations()[i], context);
      rest /= window;
    }
    patches.push_back(rewriter.create<hr::SliceOp>(
        op.getLoc(), tensorType(patchShape, element), op.getInput(),
        AffineMapAttr::get(symbolMap(starts, context)), rewriter.getDenseI64ArrayAttr(steps)));
  }
  Value matrix = rewriter.create<hr::ConcatOp>(op.getLoc(), patches, filter.size() - 1);
  AffineExpr depth = shapeOf(matrix).back();
  Value weights = rewriter.create<hr::ReshapeOp>(
      op.getLoc(), tensorType({depth, filter.back()}, getElementTypeOrSelf(op.getFilter())),
      op.getFilter());

  unsigned rank = result.size(), dims = rank + 1;
  SmallVector<AffineExpr> rows, columns;
  for (unsigned i = 0; i < rank; ++i)
    columns.push_back(getAffineDimExpr(i, context));
  rows = columns;
  rows.back() = getAffineDimExpr(rank, context);
  AffineMap maps[] = {
      AffineMap::get(dims, 0, rows, context),
      AffineMap::get(dims, 0, {getAffineDimExpr(rank, context), columns.back()}, context),
      AffineMap::get(dims, 0, columns, context)};
  auto product = rewriter.create<hr::ContractOp>(
      op.getLoc(), matrix, weights, rewriter.getAffineMapArrayAttr(maps), op.getAccumulatorAttr(),
      op.getUnsignedInput(), op.getUnsignedFilter());
  rewriter.replaceOp(op, product);
  return product;
}

SmallVector<AffineExpr> patchParameters(hr::ConvOp op) {
  MLIRContext *context = op.getContext();
  SymbolicShape image = shapeOf(op.getInput()), filter = shapeOf(op.getFilter()),
                result = shapeOf(op.getResult());
  size_t rank = filter.size() - 2;
  auto number = [&](int64_t value) { return constantDim(value, context); };
  SmallVector<AffineExpr> parameters{image.back()};
  auto append = [&](ArrayRef<AffineExpr> sizes) {
    parameters.append(BytePatches::rank - rank, number(1));
    llvm::append_range(parameters, sizes);
  };
  auto numbers = [&](ArrayRef<int64_t> values) {
    return SmallVector<AffineExpr>(llvm::map_range(values, number));
  };
  append(ArrayRef(image).slice(1, rank));
  append(ArrayRef(result).slice(1, rank));
  append(ArrayRef(filter).take_front(rank));
  append(numbers(op.getStrides()));
  append(numbers(op.getDilations()));
  return parameters;
}

} // namespace headrace
