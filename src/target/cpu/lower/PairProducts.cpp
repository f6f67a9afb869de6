// Level 3: products of bf16 add two terms at a time to sums in f32.
//
// Before:
//   %s = scf.for %k = 0 to 256 step 1 iter_args(%acc = %zero) -> vector<8x32xf32> {
//     %x = vector.transfer_read %image[%i, %k] : vector<8x1xbf16>
//     %w = vector.transfer_read %weights[%k, 0] : vector<1x32xbf16>
//     %n = vector.contract (extf %x), (extf %w), %acc
//     scf.yield %n }
// After:
//   %s:16 = scf.for %k = 0 to 256 step 2 iter_args(%acc.0 = %zero.0, ...) -> vector<16xf32>, ... {
//     %x = vector.transfer_read %image[%i, %k] : vector<8x2xbf16>
//     %w.0 = vector.transfer_read %weights[%k, 0] ; %w.1 = vector.transfer_read %weights[%k + 1, 0]
//     %p = vector.shuffle %w.0, %w.1 [0, 32, 1, 33, ...] : vector<32xbf16>
//     %n.0 = llvm.x86.avx512bf16.dpbf16ps.512(%acc.0, broadcast of the pair %x[0], %p) ; ...
//     scf.yield %n.0, ... }
//
// A term that is left over is added as before.
//
// Why: the instruction does as many multiply-adds as two of f32, and factors take half the bytes.
// The pairs of weights are put together in registers, once for all rows of a tile, so that weights
// lie as they do for other types. When it hurts: a tile of a single row, whose products wait for
// the weights anyway.
//
// The instruction takes subnormal numbers as zeros: a term below 1e-38 is lost.
#include "target/cpu/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUPAIRPRODUCTSPASS
#include "target/cpu/Passes.h.inc"

namespace {

constexpr int64_t kLanes = 16; // of f32, in the longest vector

/// The read that a factor comes from, widened and spread, if that is of bf16.
vector::TransferReadOp narrowSource(Value factor) {
  while (Operation *op = factor.getDefiningOp()) {
    if (auto read = dyn_cast<vector::TransferReadOp>(op))
      return read.getVectorType().getElementType().isBF16() ? read : nullptr;
    if (!isa<arith::ExtFOp, vector::ShapeCastOp, vector::BroadcastOp>(op))
      return nullptr;
    factor = op->getOperand(0);
  }
  return nullptr;
}

/// A loop that adds the product of one term in each iteration.
struct TermLoop {
  scf::ForOp loop;
  vector::ContractionOp product;
  vector::TransferReadOp rows, columns; // the factors of one term
  bool areAdjacent;                     // the terms of a row
  int64_t rowCount, columnCount;
};

/// Whether each row is read one element at a time, along the terms.
bool readsAlongTerms(vector::TransferReadOp read, Value term) {
  return read.getVectorType().getShape().back() == 1 && read.getIndices().back() == term &&
         llvm::count(read.getIndices(), term) == 1;
}

/// Whether elements are read as they lie in memory, in the order of its dimensions.
bool isPlain(vector::TransferReadOp read) {
  return read.getPermutationMap().isMinorIdentity() && !read.getMask() && !read.hasOutOfBoundsDim();
}

std::optional<TermLoop> matchTerms(vector::ContractionOp product) {
  auto loop = dyn_cast<scf::ForOp>(product->getParentOp());
  auto type = dyn_cast<VectorType>(product.getResultType());
  if (!loop || !type || !type.getElementType().isF32() || type.getRank() > 2 ||
      loop.getNumRegionIterArgs() != 1 || getConstantIntValue(loop.getStep()) != 1 ||
      product.getAcc() != loop.getRegionIterArg(0) ||
      product.getKind() != vector::CombiningKind::ADD ||
      loop.getBody()->getTerminator()->getOperand(0) != product.getResult())
    return std::nullopt;
  vector::TransferReadOp left = narrowSource(product.getLhs()),
                         right = narrowSource(product.getRhs());
  if (!left || !right || left->getParentOp() != loop || right->getParentOp() != loop ||
      !isPlain(left) || !isPlain(right))
    return std::nullopt;
  int64_t rows = left.getVectorType().getNumElements(),
          columns = right.getVectorType().getNumElements();
  // Rows come from the left, columns from the right, in the order of the result.
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  AffineMap result = maps[2];
  bool isOuter = llvm::all_of(llvm::enumerate(result.getResults()), [&](auto dim) {
    bool isColumn = dim.index() + 1 == result.getNumResults();
    unsigned position = cast<AffineDimExpr>(dim.value()).getPosition();
    return isColumn ? !maps[0].isFunctionOfDim(position) : maps[0].isFunctionOfDim(position);
  });
  bool hasShape = type.getShape().back() == columns &&
                  (type.getRank() == 2 ? type.getDimSize(0) == rows : rows == 1);
  if (!isOuter || !hasShape || columns == 1)
    return std::nullopt;
  return TermLoop{loop, product, left, right, readsAlongTerms(left, loop.getInductionVar()),
                  rows, columns};
}

/// A vector of sums: which column each lane has. Lanes without one repeat the last.
struct Part {
  SmallVector<int64_t> columns;
  int64_t used;
  enum { Alone, Lower, Upper } place = Alone; // among two parts that share their columns

  int64_t lanes() const { return static_cast<int64_t>(columns.size()); }
};

/// Two parts of 32 columns have them in the order in which instructions without a mask put pairs
/// together: within each 16 bytes, the lower halves and the upper ones. Masks would take registers
/// that accumulators need.
SmallVector<Part> partsOf(int64_t columnCount) {
  constexpr int64_t kPairsOfBlock = 4;
  SmallVector<Part> parts;
  int64_t begin = 0;
  for (; begin + 2 * kLanes <= columnCount; begin += 2 * kLanes)
    for (int64_t half : {0, 1}) {
      Part &part = parts.emplace_back();
      part.used = kLanes;
      part.place = half == 0 ? Part::Lower : Part::Upper;
      for (int64_t lane = 0; lane < kLanes; ++lane)
        part.columns.push_back(begin + lane / kPairsOfBlock * 2 * kPairsOfBlock +
                               half * kPairsOfBlock + lane % kPairsOfBlock);
    }
  while (begin < columnCount) {
    int64_t left = columnCount - begin, lanes = kPairsOfBlock;
    while (lanes < left && lanes < kLanes)
      lanes *= 2;
    Part &part = parts.emplace_back();
    part.used = std::min(lanes, left);
    for (int64_t lane = 0; lane < lanes; ++lane)
      part.columns.push_back(std::min(begin + lane, columnCount - 1));
    begin += part.used;
  }
  return parts;
}

class Pairing {
public:
  explicit Pairing(TermLoop given)
      : terms(given), b(given.loop), loc(given.product.getLoc()),
        type(cast<VectorType>(terms.product.getResultType())), parts(partsOf(terms.columnCount)) {}

  void run() {
    scf::ForOp loop = terms.loop;
    Value begin = loop.getLowerBound(), end = loop.getUpperBound();
    std::optional<int64_t> first = getConstantIntValue(begin), last = getConstantIntValue(end);
    bool isEven = first && last && (*last - *first) % 2 == 0;
    Value two = index(2), middle = end;
    if (!isEven) {
      Value rest = b.create<arith::RemUIOp>(loc, b.create<arith::SubIOp>(loc, end, begin), two);
      middle = b.create<arith::SubIOp>(loc, end, rest);
    }
    auto pairs = b.create<scf::ForOp>(loc, begin, middle, two, apart(loop.getInitArgs()[0]));
    writeBody(pairs);
    b.setInsertionPointAfter(pairs);
    Value sums = together(pairs.getResults());
    if (!isEven) { // one term or none
      loop.getLowerBoundMutable().assign(middle);
      loop.getInitArgsMutable().assign(sums);
      return;
    }
    Value init = loop.getInitArgs()[0];
    loop.getResult(0).replaceAllUsesWith(sums);
    loop.erase();
    liftThrough(pairs, init, sums);
  }

private:
  Value index(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }

  template <class Body> void forEachPart(Body body) {
    for (int64_t row = 0; row < terms.rowCount; ++row)
      for (size_t part = 0; part < parts.size(); ++part)
        body(row, part);
  }

  bool isMatrix() const { return type.getRank() == 2; }

  /// A tile of sums as vectors of the machine.
  SmallVector<Value> apart(Value sums) {
    SmallVector<Value> vectors;
    Value whole;
    forEachPart([&](int64_t row, size_t part) {
      if (part == 0)
        whole = isMatrix() ? b.create<vector::ExtractOp>(loc, sums, row).getResult() : sums;
      vectors.push_back(b.create<vector::ShuffleOp>(loc, whole, whole, parts[part].columns));
    });
    return vectors;
  }

  Value together(ValueRange vectors) {
    Value all = b.create<arith::ConstantOp>(loc, b.getZeroAttr(type)), row;
    auto rowType = VectorType::get(terms.columnCount, b.getF32Type());
    auto put = [&](Value vector, int64_t column) {
      row = b.create<vector::InsertStridedSliceOp>(loc, vector, row, ArrayRef{column},
                                                   ArrayRef<int64_t>{1});
    };
    forEachPart([&](int64_t r, size_t index) {
      const Part &part = parts[index];
      Value vector = vectors[r * parts.size() + index];
      if (index == 0)
        row = b.create<arith::ConstantOp>(loc, b.getZeroAttr(rowType));
      if (part.place == Part::Alone) {
        put(b.create<vector::ShuffleOp>(loc, vector, vector,
                                        llvm::to_vector(llvm::seq<int64_t>(0, part.used))),
            part.columns[0]);
      } else if (part.place == Part::Upper) {
        const Part &lower = parts[index - 1];
        SmallVector<int64_t> order(2 * kLanes);
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          order[lower.columns[lane] - lower.columns[0]] = lane;
          order[part.columns[lane] - lower.columns[0]] = kLanes + lane;
        }
        put(b.create<vector::ShuffleOp>(loc, vectors[r * parts.size() + index - 1], vector, order),
            lower.columns[0]);
      }
      if (index + 1 == parts.size())
        all = isMatrix() ? b.create<vector::InsertOp>(loc, row, all, r).getResult() : row;
    });
    return all;
  }

  /// Loops around that do nothing else with the sums carry them apart as well.
  void liftThrough(scf::ForOp inner, Value init, Value sums) {
    auto outer = dyn_cast<scf::ForOp>(inner->getParentOp());
    if (!outer || outer.getNumRegionIterArgs() != 1 || init != outer.getRegionIterArg(0) ||
        outer.getBody()->getTerminator()->getOperand(0) != sums || !sums.hasOneUse())
      return;
    SmallVector<Operation *> takesApart(init.getUsers());
    bool isOnlyTakenApart = llvm::all_of(takesApart, [&](Operation *user) {
      return isa<vector::ExtractOp, vector::ShuffleOp>(user) && user->getBlock() == outer.getBody();
    });
    if (!isOnlyTakenApart)
      return;
    b.setInsertionPoint(outer);
    auto lifted = b.create<scf::ForOp>(loc, outer.getLowerBound(), outer.getUpperBound(),
                                       outer.getStep(), apart(outer.getInitArgs()[0]));
    Block *body = lifted.getBody();
    inner.getInitArgsMutable().assign(lifted.getRegionIterArgs());
    outer.getInductionVar().replaceAllUsesWith(lifted.getInductionVar());
    body->getOperations().splice(body->end(), outer.getBody()->getOperations());
    Operation *terminator = body->getTerminator();
    b.setInsertionPoint(terminator);
    b.create<scf::YieldOp>(loc, inner.getResults());
    terminator->erase();
    // The operations that split and joined the vectors are no longer used.
    SmallVector<Operation *> operations;
    for (Operation &op : body->without_terminator())
      operations.push_back(&op);
    for (Operation *op : llvm::reverse(operations))
      if (isOpTriviallyDead(op))
        op->erase();
    b.setInsertionPointAfter(lifted);
    Value result = together(lifted.getResults()), start = outer.getInitArgs()[0];
    outer.getResult(0).replaceAllUsesWith(result);
    outer.erase();
    liftThrough(lifted, start, result);
  }

  void writeBody(scf::ForOp pairs) {
    b.setInsertionPointToStart(pairs.getBody());
    IRMapping first, second;
    first.map(terms.loop.getInductionVar(), pairs.getInductionVar());
    second.map(terms.loop.getInductionVar(),
               b.create<arith::AddIOp>(loc, pairs.getInductionVar(), index(1)).getResult());
    for (Operation &op : terms.loop.getBody()->without_terminator())
      if (&op != terms.product) {
        b.clone(op, first);
        b.clone(op, second);
      }
    SmallVector<Value> factors = pairsOfRows(first, second), weights;
    Value even = columnsOf(first), odd = columnsOf(second);
    for (const Part &part : parts)
      weights.push_back(pairsOfColumns(even, odd, part));
    SmallVector<Value> sums;
    forEachPart([&](int64_t row, size_t part) {
      int64_t lanes = parts[part].lanes();
      Value sum = pairs.getRegionIterArg(sums.size());
      sums.push_back(b.create<LLVM::CallIntrinsicOp>(
                          loc, sum.getType(),
                          b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps." + Twine(32 * lanes)),
                          ValueRange{sum, everywhere(factors[row], lanes), weights[part]})
                         .getResult(0));
    });
    b.create<scf::YieldOp>(loc, sums);
  }

  /// The two terms of each row, as the bits of one integer.
  SmallVector<Value> pairsOfRows(IRMapping &first, const IRMapping &second) {
    int64_t rows = terms.rowCount;
    SmallVector<Value> pairs;
    auto add = [&](Value pair) {
      pair = b.create<vector::BitCastOp>(loc, VectorType::get(1, b.getI32Type()), pair);
      pairs.push_back(b.create<vector::ExtractOp>(loc, pair, 0));
    };
    if (terms.areAdjacent) {
      auto read = cast<vector::TransferReadOp>(b.clone(*terms.rows, first));
      SmallVector<int64_t> shape(read.getVectorType().getShape()), position(shape.size() - 1);
      shape.back() = 2;
      read.getResult().setType(VectorType::get(shape, b.getBF16Type()));
      for (int64_t row = 0; row < rows; ++row) {
        int64_t rest = row;
        for (size_t dim = position.size(); dim-- > 0; rest /= shape[dim])
          position[dim] = rest % shape[dim];
        add(b.create<vector::ExtractOp>(loc, read, position));
      }
      return pairs;
    }
    auto flat = [&](const IRMapping &at) {
      return b.create<vector::ShapeCastOp>(loc, VectorType::get(rows, b.getBF16Type()),
                                           at.lookup(terms.rows.getResult()));
    };
    for (int64_t row = 0; row < rows; ++row)
      add(b.create<vector::ShuffleOp>(loc, flat(first), flat(second), ArrayRef{row, rows + row}));
    return pairs;
  }

  Value columnsOf(const IRMapping &at) {
    return b.create<vector::ShapeCastOp>(loc, VectorType::get(terms.columnCount, b.getBF16Type()),
                                         at.lookup(terms.columns.getResult()));
  }

  /// Lane by lane, the weights of the first term and of the second.
  Value pairsOfColumns(Value even, Value odd, const Part &part) {
    SmallVector<int64_t> order;
    for (int64_t column : part.columns)
      order.append({column, terms.columnCount + column});
    Value both = b.create<vector::ShuffleOp>(loc, even, odd, order);
    return asPairs(
        b.create<vector::BitCastOp>(loc, VectorType::get(part.lanes(), b.getI32Type()), both));
  }

  Value everywhere(Value pair, int64_t lanes) {
    return asPairs(
        b.create<vector::BroadcastOp>(loc, VectorType::get(lanes, b.getI32Type()), pair));
  }

  /// The type of the instruction's operands. Other values of bf16 become integers.
  Value asPairs(Value bits) {
    int64_t lanes = cast<VectorType>(bits.getType()).getNumElements();
    return b.create<LLVM::BitcastOp>(loc, VectorType::get(2 * lanes, b.getBF16Type()), bits);
  }

  TermLoop terms;
  OpBuilder b;
  Location loc;
  VectorType type;
  SmallVector<Part> parts;
};

struct CpuPairProductsPass : impl::CpuPairProductsPassBase<CpuPairProductsPass> {
  void runOnOperation() override {
    SmallVector<TermLoop> found;
    getOperation().walk([&](vector::ContractionOp product) {
      if (std::optional<TermLoop> terms = matchTerms(product))
        found.push_back(*terms);
    });
    for (const TermLoop &terms : found)
      Pairing(terms).run();
  }
};

} // namespace
} // namespace headrace
