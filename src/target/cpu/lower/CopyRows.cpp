// Level 3 -> 4: rows of a table that are picked by number are copied as vectors.
//
// Before:
//   linalg.generic ins(%numbers) outs(%rows : memref<512x64xf32>) {
//     %row = ... of a number ; %x = memref.load %table[%row, linalg.index 1] ; linalg.yield %x }
// After:
//   scf.for %i = 0 to 512 { %number = memref.load %numbers[%i] ; %row = ... ;
//     %x = vector.load %table[%row, 0] : vector<64xf32> ; vector.store %x, %rows[%i, 0] }
//
// A copy of rows of known length is written so, too, as when tensors of few columns are joined.
// Nothing tells the code generator that the numbers stay what they are while rows are written: it
// would look up, wrap and bound a number again for every element of its row.
#include "target/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUCOPYROWSPASS
#include "target/cpu/Passes.h.inc"

namespace {

/// Whether elements along the last dimension are adjacent.
bool hasUnitSteps(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return type.getRank() > 0 && succeeded(getStridesAndOffset(type, strides, offset)) &&
         strides.back() == 1;
}

/// Whether a value of the operation's body is the same all along the last loop: computed from
/// positions in the others, and from operands that are read by those alone.
bool isFixedAlongRow(linalg::LinalgOp op, Value value) {
  unsigned last = op.getNumLoops() - 1;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != op.getBlock())
      return true;
    OpOperand *operand = op.getMatchingOpOperand(argument);
    AffineMap map = op.getMatchingIndexingMap(operand);
    return op.isDpsInput(operand) && isa<MemRefType>(operand->get().getType()) &&
           map.isProjectedPermutation() && !map.isFunctionOfDim(last);
  }
  Operation *made = value.getDefiningOp();
  if (made->getBlock() != op.getBlock())
    return true;
  if (auto index = dyn_cast<linalg::IndexOp>(made))
    return index.getDim() != last;
  return isMemoryEffectFree(made) && made->getNumRegions() == 0 &&
         llvm::all_of(made->getOperands(),
                      [&](Value operand) { return isFixedAlongRow(op, operand); });
}

/// A memory, and where a row of it lies: at values of the operation's body, or at positions of its
/// loops.
struct RowSource {
  Value memory;
  SmallVector<Value> numbers;
  SmallVector<unsigned> loops;
};

/// An operand whose rows lie along the last loop, if others of its dimensions are loops, too.
std::optional<RowSource> rowsOfOperand(linalg::LinalgOp op, BlockArgument argument) {
  if (argument.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  AffineMap map = op.getMatchingIndexingMap(operand);
  auto type = dyn_cast<MemRefType>(operand->get().getType());
  if (!op.isDpsInput(operand) || !type || !hasUnitSteps(type) || !map.isProjectedPermutation())
    return std::nullopt;
  RowSource source{operand->get(), {}, {}};
  for (AffineExpr expr : map.getResults())
    source.loops.push_back(cast<AffineDimExpr>(expr).getPosition());
  if (source.loops.pop_back_val() != op.getNumLoops() - 1)
    return std::nullopt;
  return source;
}

/// The rows that an operation copies: along its last loop it yields elements of one, and computes
/// nothing else.
std::optional<RowSource> rowsCopiedBy(linalg::LinalgOp op) {
  unsigned loops = op.getNumLoops();
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1 || loops == 0 ||
      op.getNumParallelLoops() != loops || !op.getIndexingMapsArray().back().isIdentity() ||
      !hasUnitSteps(cast<MemRefType>(op.getDpsInits().front().getType())))
    return std::nullopt;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  if (auto argument = dyn_cast<BlockArgument>(yielded))
    return rowsOfOperand(op, argument);
  auto load = yielded.getDefiningOp<memref::LoadOp>();
  if (!load || load->getBlock() != op.getBlock() || !hasUnitSteps(load.getMemRefType()))
    return std::nullopt;
  auto column = load.getIndices().back().getDefiningOp<linalg::IndexOp>();
  bool isRow = column && column.getDim() == loops - 1 &&
               llvm::all_of(load.getIndices().drop_back(),
                            [&](Value index) { return isFixedAlongRow(op, index); });
  if (!isRow)
    return std::nullopt;
  return RowSource{load.getMemRef(), SmallVector<Value>(load.getIndices().drop_back()), {}};
}

bool isVectorElement(Type element) {
  return element.isF32() || element.isF64() ||
         (element.isInteger() && element.getIntOrFloatBitWidth() >= 8);
}

class RowCopier {
public:
  RowCopier(linalg::LinalgOp op, RowSource rows, int64_t vectorBytes)
      : op(op), rows(std::move(rows)), vectorBytes(vectorBytes), loc(op.getLoc()), b(op),
        out(op.getDpsInits().front()) {}

  void run() {
    SmallVector<Value> lows, highs, steps;
    for (unsigned dim = 0; dim + 1 < op.getNumLoops(); ++dim) {
      lows.push_back(number(b, 0));
      highs.push_back(b.createOrFold<memref::DimOp>(loc, out, dim));
      steps.push_back(number(b, 1));
    }
    scf::buildLoopNest(b, loc, lows, highs, steps,
                       [&](OpBuilder &inner, Location, ValueRange position) {
                         copyRow(inner, SmallVector<Value>(position));
                       });
    op.erase();
  }

private:
  Value number(OpBuilder &at, int64_t value) const {
    return at.create<arith::ConstantIndexOp>(loc, value);
  }

  void copyRow(OpBuilder &inner, SmallVector<Value> to) {
    IRMapping known;
    SmallVector<Value> from;
    for (Value index : rows.numbers)
      from.push_back(cloned(inner, index, to, known));
    for (unsigned loop : rows.loops)
      from.push_back(to[loop]);
    int64_t length = cast<MemRefType>(out.getType()).getShape().back();
    Type element = getElementTypeOrSelf(out.getType());
    if (ShapedType::isDynamic(length) || length == 1 || !isVectorElement(element)) {
      inner.create<linalg::CopyOp>(loc, rowAt(inner, rows.memory, from), rowAt(inner, out, to));
      return;
    }
    constexpr int64_t registersAtOnce = 4;
    int64_t most = registersAtOnce * vectorBytes * 8 / element.getIntOrFloatBitWidth();
    auto copy = [&](OpBuilder &at, Value column, int64_t width) {
      auto type = VectorType::get(width, element);
      SmallVector<Value> source(from), target(to);
      source.push_back(column);
      target.push_back(column);
      Value part = at.create<vector::LoadOp>(loc, type, rows.memory, source);
      at.create<vector::StoreOp>(loc, part, out, target);
    };
    int64_t whole = length / most * most;
    if (whole == most)
      copy(inner, number(inner, 0), most);
    else if (whole > 0)
      inner.create<scf::ForOp>(loc, number(inner, 0), number(inner, whole), number(inner, most),
                               ValueRange(),
                               [&](OpBuilder &at, Location, Value column, ValueRange) {
                                 copy(at, column, most);
                                 at.create<scf::YieldOp>(loc);
                               });
    if (whole < length)
      copy(inner, number(inner, whole), length - whole);
  }

  /// The row of a memory at a position of its other dimensions.
  Value rowAt(OpBuilder &inner, Value memory, ArrayRef<Value> position) const {
    auto type = cast<MemRefType>(memory.getType());
    SmallVector<OpFoldResult> offsets(position.begin(), position.end());
    SmallVector<OpFoldResult> sizes(position.size(), inner.getIndexAttr(1)),
        strides(type.getRank(), inner.getIndexAttr(1));
    offsets.push_back(inner.getIndexAttr(0));
    // As long as the result's, which a table's may be longer than.
    OpFoldResult length = memref::getMixedSizes(inner, loc, out).back();
    sizes.push_back(length);
    auto row = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
        {cast<MemRefType>(out.getType()).getShape().back()}, type, offsets, sizes, strides));
    return inner.create<memref::SubViewOp>(loc, row, memory, offsets, sizes, strides);
  }

  /// A value of the operation's body at a position of its loops but the last.
  Value cloned(OpBuilder &inner, Value value, ArrayRef<Value> position, IRMapping &known) {
    if (Value found = known.lookupOrNull(value))
      return found;
    Value result = value;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != op.getBlock())
        return value;
      OpOperand *operand = op.getMatchingOpOperand(argument);
      SmallVector<Value> indices;
      for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults())
        indices.push_back(position[cast<AffineDimExpr>(expr).getPosition()]);
      result = inner.create<memref::LoadOp>(loc, operand->get(), indices);
    } else if (Operation *made = value.getDefiningOp(); made->getBlock() != op.getBlock()) {
      return value;
    } else if (auto index = dyn_cast<linalg::IndexOp>(made)) {
      result = position[index.getDim()];
    } else {
      for (Value operand : made->getOperands())
        cloned(inner, operand, position, known);
      inner.clone(*made, known);
      return known.lookup(value);
    }
    known.map(value, result);
    return result;
  }

  linalg::LinalgOp op;
  RowSource rows;
  int64_t vectorBytes;
  Location loc;
  OpBuilder b;
  Value out;
};

struct CpuCopyRowsPass : impl::CpuCopyRowsPassBase<CpuCopyRowsPass> {
  using CpuCopyRowsPassBase::CpuCopyRowsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }

  /// Copies of rows of unknown length are loops as they are.
  static bool hasVectorsToCopy(linalg::LinalgOp op) {
    auto type = cast<MemRefType>(op.getDpsInits().front().getType());
    int64_t length = type.getShape().back();
    return !ShapedType::isDynamic(length) && length > 1 && isVectorElement(type.getElementType());
  }

  void runOnOperation() override {
    SmallVector<std::pair<linalg::LinalgOp, RowSource>> copies;
    getOperation().walk([&](linalg::LinalgOp op) {
      std::optional<RowSource> rows = rowsCopiedBy(op);
      if (rows && (!rows->numbers.empty() || hasVectorsToCopy(op)))
        copies.push_back({op, *rows});
    });
    for (auto &[op, rows] : copies)
      RowCopier(op, rows, vectorBytes).run();
  }
};

} // namespace
} // namespace headrace
