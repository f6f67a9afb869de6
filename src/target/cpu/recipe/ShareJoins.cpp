// Level 3: rows of joined tensors are shared by threads, and written where they are joined.
//
// Before:
//   %g = linalg.generic (rows of a table) : tensor<512x1x64xf32>
//   %0 = tensor.insert_slice %x into %empty[0, 0, 0] [512, 1, 64]
//   %1 = tensor.insert_slice %g into %0[0, 1, 0] [512, 1, 64]
// After:
//   scf.forall (%i) = (0) to (512) step (32) { scf.for %j = 0 to 32 {
//     insert %x[%i + %j] [1, 1, 64] ; insert (the row of the table for that one's number) } }
//
// What the kernel computes of a part is computed a row at a time, in place. A join along its
// first dimension stays one piece: its parts are copied whole.
#include "target/cpu/Passes.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUSHAREJOINSPASS
#include "target/cpu/Passes.h.inc"

namespace {

constexpr int64_t kCellBytes = 1 << 16;   // enough that starting a cell costs nothing
constexpr int64_t kWantedCells = 16;      // enough to share evenly among a few threads
constexpr int64_t kFewestBytes = 1 << 17; // less is over before another thread has begun

/// The parts of a join in the order in which they are inserted, first to last, and what they are
/// inserted into.
struct Join {
  SmallVector<tensor::InsertSliceOp> parts;
  tensor::EmptyOp into;

  static std::optional<Join> of(Value joined) {
    Join join;
    while (auto part = joined.getDefiningOp<tensor::InsertSliceOp>()) {
      if (!part->hasOneUse() || !part.hasUnitStride() ||
          part.getSourceType().getRank() != part.getType().getRank())
        return std::nullopt;
      join.parts.push_back(part);
      joined = part.getDest();
    }
    std::reverse(join.parts.begin(), join.parts.end());
    join.into = joined.getDefiningOp<tensor::EmptyOp>();
    return join.into && join.parts.size() > 1 ? std::optional(join) : std::nullopt;
  }

  /// The first dimension of more than one element, if no part begins or ends within it.
  std::optional<unsigned> rowDim() {
    SmallVector<OpFoldResult> sizes = into.getMixedSizes();
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      if (getConstantIntValue(size) == 1)
        continue;
      bool isShared = llvm::all_of(parts, [&, dim = dim](tensor::InsertSliceOp part) {
        return getConstantIntValue(part.getMixedOffsets()[dim]) == 0 &&
               isEqualConstantIntOrValue(part.getMixedSizes()[dim], sizes[dim]);
      });
      return isShared ? std::optional<unsigned>(dim) : std::nullopt;
    }
    return std::nullopt;
  }

  /// Rows of a cell: all of them if the join is too small to be shared.
  int64_t rowsOfCell(unsigned dim) {
    RankedTensorType type = into.getType();
    int64_t bytes = std::max<int64_t>(type.getElementTypeBitWidth() / 8, 1);
    for (auto [i, size] : llvm::enumerate(type.getShape()))
      if (i != dim && !ShapedType::isDynamic(size))
        bytes *= size;
    int64_t count = type.getDimSize(dim), rows = std::max<int64_t>(kCellBytes / bytes, 1);
    if (ShapedType::isDynamic(count))
      return rows;
    if (type.hasStaticShape() && count * bytes < kFewestBytes)
      return count;
    rows = std::min(rows, std::max<int64_t>(count / kWantedCells, 1));
    // Whole cells if there can be.
    for (int64_t even = rows; 2 * even > rows; --even)
      if (count % even == 0)
        return even;
    return rows;
  }
};

class JoinWriter {
public:
  JoinWriter(Join &join, unsigned dim, int64_t rows, Value joined)
      : join(join), dim(dim), rows(rows), joined(joined), loc(joined.getLoc()),
        rewriter(joined.getContext()) {}

  void run() {
    rewriter.setInsertionPointAfterValue(joined);
    OpFoldResult count = join.into.getMixedSizes()[dim];
    auto grid = rewriter.create<scf::ForallOp>(
        loc, ArrayRef<OpFoldResult>{rewriter.getIndexAttr(0)}, ArrayRef<OpFoldResult>{count},
        ArrayRef<OpFoldResult>{rewriter.getIndexAttr(rows)}, ValueRange{join.into},
        /*mapping=*/std::nullopt);
    rewriter.setInsertionPointToStart(grid.getBody());
    Value first = grid.getInductionVar(0);
    OpFoldResult here = rowsFrom(first, count);
    Value out = grid.getRegionIterArgs().front();
    Part cell = part(join.into.getMixedSizes(), first, here);
    Value block =
        rewriter.create<tensor::ExtractSliceOp>(loc, out, cell.offsets, cell.sizes, cell.strides);
    block = joinRows(block, first, here);
    rewriter.setInsertionPointToEnd(grid.getTerminator().getBody());
    rewriter.create<tensor::ParallelInsertSliceOp>(loc, block, out, cell.offsets, cell.sizes,
                                                   cell.strides);
    rewriter.replaceAllUsesExcept(joined, grid.getResult(0), grid);
    for (tensor::InsertSliceOp part : llvm::reverse(join.parts)) {
      Operation *computed = part.getSource().getDefiningOp();
      rewriter.eraseOp(part);
      if (computed && computed->use_empty())
        rewriter.eraseOp(computed);
    }
  }

private:
  struct Part {
    SmallVector<OpFoldResult> offsets, sizes, strides;
  };
  /// Some rows of a tensor of these sizes.
  Part part(SmallVector<OpFoldResult> sizes, OpFoldResult first, OpFoldResult count) {
    Part part;
    part.sizes = std::move(sizes);
    part.offsets.assign(part.sizes.size(), rewriter.getIndexAttr(0));
    part.strides.assign(part.sizes.size(), rewriter.getIndexAttr(1));
    part.offsets[dim] = first;
    part.sizes[dim] = count;
    return part;
  }

  /// All parts of a row, then of the next. Part after part, each would be a loop of a few rows,
  /// which the code generator writes out: a time for compiling that is out of proportion.
  Value joinRows(Value block, Value first, OpFoldResult here) {
    OpBuilder::InsertionGuard guard(rewriter);
    auto number = [&](OpFoldResult value) {
      return getValueOrCreateConstantIndexOp(rewriter, loc, value);
    };
    OpFoldResult one = rewriter.getIndexAttr(1);
    auto loop = rewriter.create<scf::ForOp>(loc, number(rewriter.getIndexAttr(0)), number(here),
                                            number(one), block);
    rewriter.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar(), rowOfAll = rewriter.create<arith::AddIOp>(loc, first, row);
    Value joinedRows = loop.getRegionIterArg(0);
    for (tensor::InsertSliceOp insert : join.parts) {
      Part read = part(insert.getMixedSizes(), rowOfAll, one);
      Value source = rowsOfSource(insert.getSource(), read);
      SmallVector<OpFoldResult> offsets = insert.getMixedOffsets();
      offsets[dim] = row;
      joinedRows = rewriter.create<tensor::InsertSliceOp>(loc, source, joinedRows, offsets,
                                                          read.sizes, read.strides);
    }
    rewriter.create<scf::YieldOp>(loc, joinedRows);
    return loop.getResult(0);
  }

  /// How many rows the cell has.
  OpFoldResult rowsFrom(Value first, OpFoldResult count) {
    std::optional<int64_t> known = getConstantIntValue(count);
    if (known && *known % rows == 0)
      return rewriter.getIndexAttr(rows);
    AffineExpr d0 = rewriter.getAffineDimExpr(0), d1 = rewriter.getAffineDimExpr(1);
    AffineExpr most = rewriter.getAffineConstantExpr(rows);
    return affine::makeComposedFoldedAffineMin(
        rewriter, loc, AffineMap::get(2, 0, {most, d1 - d0}, rewriter.getContext()),
        {OpFoldResult(first), count});
  }

  Value rowsOfSource(Value source, Part &part) {
    auto computed = source.getDefiningOp<TilingInterface>();
    if (computed && source.hasOneUse()) {
      FailureOr<TilingResult> tile =
          computed.generateResultTileValue(rewriter, /*resultNumber=*/0, part.offsets, part.sizes);
      if (succeeded(tile))
        return tile->tiledValues.front();
    }
    return rewriter.create<tensor::ExtractSliceOp>(loc, source, part.offsets, part.sizes,
                                                   part.strides);
  }

  Join &join;
  unsigned dim;
  int64_t rows;
  Value joined;
  Location loc;
  IRRewriter rewriter;
};

struct CpuShareJoinsPass : impl::CpuShareJoinsPassBase<CpuShareJoinsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, scf::SCFDialect,
                    tensor::TensorDialect>();
  }

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    auto stores = llvm::to_vector(kernel.getOps<bufferization::MaterializeInDestinationOp>());
    if (stores.size() != 1 || !kernel.getOps<scf::ForallOp>().empty())
      return;
    Value joined = stores.front().getSource();
    std::optional<Join> join = Join::of(joined);
    std::optional<unsigned> dim = join ? join->rowDim() : std::nullopt;
    if (dim)
      JoinWriter(*join, *dim, join->rowsOfCell(*dim), joined).run();
  }
};

} // namespace
} // namespace headrace
