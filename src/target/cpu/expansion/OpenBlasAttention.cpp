// Attention by OpenBLAS, a block of scores at a time. Before:
//   %q = hr.transpose %x [0, 2, 1, 3] ; %y = hr.attention %q, %k, %v {scale = 0.125 : f64}
//   %z = hr.transpose %y [0, 2, 1, 3]
// After:
//   %z = hr.library "openblas.attention" (%x, ...)
//
// The routine reads and writes rows wherever they lie: transposes that keep rows whole are strides.
#include "dialect/Permutation.h"
#include "dialect/ops/Operands.h"
#include "runtime/library/Attention.h"
#include "runtime/program/Library.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/expansion/ProductShape.h"

using namespace mlir;

namespace headrace {
namespace {

constexpr size_t kMaxRank = 4; // batch, head, row, column

/// Where the elements of a value lie: it is its source with dimensions in another order.
struct View {
  Value source;
  SmallVector<AffineExpr> strides; // of the value's dimensions
};

SmallVector<AffineExpr> rowMajorStrides(ArrayRef<AffineExpr> shape, MLIRContext *context) {
  SmallVector<AffineExpr> strides(shape.size());
  AffineExpr stride = constantDim(1, context);
  for (size_t i = shape.size(); i-- > 0; stride = stride * shape[i])
    strides[i] = stride;
  return strides;
}

bool keepsRows(ArrayRef<int64_t> permutation) {
  return permutation.back() == static_cast<int64_t>(permutation.size()) - 1;
}

/// Looks through transposes, as far as rows stay whole in the end.
View viewOf(Value value) {
  size_t rank = hr::typeOf(value).getRank();
  View best;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (Value source = value;;) {
    if (keepsRows(order))
      best = {source,
              permuted(ArrayRef<AffineExpr>(rowMajorStrides(shapeOf(source), value.getContext())),
                       order)};
    auto transpose = source.getDefiningOp<hr::TransposeOp>();
    if (!transpose)
      return best;
    // Dimension i of the result is dimension permutation[i] of the input.
    for (int64_t &dim : order)
      dim = transpose.getPermutation()[dim];
    source = transpose.getInput();
  }
}

/// Strides of batch, head and row, or of the cells of a bias: 0 for dimensions that are not there.
SmallVector<AffineExpr> aligned(ArrayRef<AffineExpr> strides, size_t count, MLIRContext *context) {
  SmallVector<AffineExpr> result(count - strides.size(), constantDim(0, context));
  llvm::append_range(result, strides);
  return result;
}

class OpenBlasAttention final : public Expansion {
public:
  StringRef name() const override { return "openblas"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::AttentionOp>(operation);
    if (!op || !op.getType().getElementType().isF32() || !libraryAvailable("openblas"))
      return false;
    SymbolicShape query = shapeOf(op.getQuery());
    // Few queries read keys and values once, whoever computes.
    std::optional<int64_t> queries = constantValue(query[query.size() - 2]);
    return query.size() <= kMaxRank && (!queries || *queries >= kFewQueries);
  }

  Work work(Operation *operation, const Machine &) const override {
    auto op = cast<hr::AttentionOp>(operation);
    SizeHints sizes = sizeHints(op);
    Work work = workOf(op, sizes);
    SymbolicShape query = shapeOf(op.getQuery()), key = shapeOf(op.getKey());
    auto size = [&](AffineExpr expr) { return static_cast<double>(sizeHint(expr, sizes)); };
    double depth = size(query.back());
    Heads heads{work.arithmetic.front().operations / (4 * depth), size(query[query.size() - 2]),
                size(key[key.size() - 2]), depth, depth};
    Work call = ofHeads(heads, rateType(op.getType()));
    call.streams = std::move(work.streams);
    call.parts = work.parts;
    return call;
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &) const override {
    if (call.routine != "openblas.attention" && call.routine != "openblas.biased_attention")
      return std::nullopt;
    // Parameters are the members of Attention in order.
    double batch = call.parameter(0) * call.parameter(1), queries = call.parameter(2),
           keys = call.parameter(3);
    bool causal = call.parameter(6) != 0;
    double scores = batch * queries * keys * (causal ? 0.5 : 1);
    Work work = ofHeads({scores, queries, keys, call.parameter(4), call.parameter(5)}, call.type);
    work.parts = std::max(1.0, batch * std::ceil(queries / kBlock));
    return work;
  }

  void rewrite(Operation *operation, const Machine &, RewriterBase &rewriter) const override {
    auto op = cast<hr::AttentionOp>(operation);
    MLIRContext *context = op.getContext();
    Location loc = op.getLoc();
    rewriter.setInsertionPoint(op);
    View query = viewOf(op.getQuery()), key = viewOf(op.getKey()), value = viewOf(op.getValue());
    SmallVector<Value> operands{query.source, key.source, value.source};
    if (op.getBias())
      operands.push_back(op.getBias());
    Operation *replaced = op;
    SmallVector<AffineExpr> resultStrides = writtenTransposed(op, replaced);
    RankedTensorType type = hr::typeOf(replaced->getResult(0));

    SmallVector<AffineExpr> parameters = sizesOf(op);
    auto append = [&](ArrayRef<AffineExpr> strides, size_t count) {
      llvm::append_range(parameters, aligned(strides, count, context));
    };
    for (const View *view : {&query, &key, &value})
      append(ArrayRef(view->strides).drop_back(), kMaxRank - 1);
    append(biasStrides(op), kMaxRank);
    append(ArrayRef(resultStrides).drop_back(), kMaxRank - 1);

    AffineExpr bytesRead = constantDim(0, context);
    for (Value operand : operands)
      bytesRead = bytesRead + byteCount(hr::typeOf(operand));
    AffineMap cost =
        symbolMap({bytesRead, byteCount(type), op.getMovement().operations(context)}, context);
    std::string name = operatorName(op);
    rewriter.setInsertionPoint(replaced);
    Value result = rewriter.create<hr::LibraryOp>(
        loc, type, operands,
        rewriter.getStringAttr(op.getBias() ? "openblas.biased_attention" : "openblas.attention"),
        AffineMapAttr::get(symbolMap(parameters, context)), rewriter.getStringAttr(name),
        rewriter.getStrArrayAttr({name}), AffineMapAttr::get(cost));
    rewriter.replaceOp(replaced, result);
    if (replaced != op)
      rewriter.eraseOp(op);
  }

private:
  static constexpr int64_t kFewQueries = 8;
  static constexpr double kBlock = 256; // of queries or keys, about

  /// Attention of one or several heads: how many scores all have, and the sizes of one.
  struct Heads {
    double scores, queries, keys, depth, valueDepth;
  };
  static Work ofHeads(const Heads &heads, DType type) {
    Work work;
    work.kernelCalls = 0;
    work.libraryCalls = 1;
    work.librarySide =
        ProductShape{1, std::min(heads.queries, kBlock), std::min(heads.keys, kBlock), heads.depth}
            .side();
    work.arithmetic = {
        {OperationKind::Product, type, 2 * heads.scores * (heads.depth + heads.valueDepth)},
        // Every block of keys rescales what the blocks before it left; scores stay in the caches.
        {OperationKind::Elementary, type, heads.scores},
        {OperationKind::Simple, type, 4 * heads.scores}};
    return work;
  }

  /// The first members of Attention.
  static SmallVector<AffineExpr> sizesOf(hr::AttentionOp op) {
    MLIRContext *context = op.getContext();
    SymbolicShape query = shapeOf(op.getQuery()), value = shapeOf(op.getValue());
    size_t leading = query.size() - 2;
    SmallVector<AffineExpr> sizes(2 - leading, constantDim(1, context));
    sizes.append(query.begin(), query.end() - 1);
    sizes.append({value[leading], query.back(), value.back(), constantDim(op.getCausal(), context),
                  constantDim(op.getZeroMasked(), context),
                  constantDim(std::bit_cast<int64_t>(op.getScale().convertToDouble()), context)});
    return sizes;
  }

  /// 0 if a bias is broadcast.
  static SmallVector<AffineExpr> biasStrides(hr::AttentionOp op) {
    if (!op.getBias())
      return {};
    SymbolicShape shape = shapeOf(op.getBias());
    SmallVector<AffineExpr> strides = rowMajorStrides(shape, op.getContext());
    for (auto [size, stride] : llvm::zip_equal(shape, strides))
      if (constantValue(size) == 1)
        stride = constantDim(0, op.getContext());
    return strides;
  }

  /// Strides of the result in what is written; `replaced` becomes the transpose that is.
  static SmallVector<AffineExpr> writtenTransposed(hr::AttentionOp op, Operation *&replaced) {
    auto transpose = op->hasOneUse() ? dyn_cast<hr::TransposeOp>(*op->user_begin()) : nullptr;
    if (!transpose || !keepsRows(transpose.getPermutation()))
      return rowMajorStrides(shapeOf(op.getResult()), op.getContext());
    replaced = transpose;
    SmallVector<AffineExpr> strides =
        rowMajorStrides(shapeOf(transpose.getResult()), op.getContext());
    return permuted(ArrayRef<AffineExpr>(strides), inverse(transpose.getPermutation()));
  }
};

} // namespace

const Expansion &openBlasAttention() {
  static const OpenBlasAttention expansion;
  return expansion;
}

} // namespace headrace
