// Reference evaluation of contractions: brought to a batch of matrix products.
#include "dialect/reference/Reference.h"

#include "dialect/ops/contraction/MatrixProduct.h"

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

namespace {

/// The loops of a contraction by where they occur.
struct ContractionLoops {
  SmallVector<int64_t> batch;   // both operands and the result
  SmallVector<int64_t> rows;    // lhs and result
  SmallVector<int64_t> columns; // rhs and result
  SmallVector<int64_t> summed;  // both operands
  SmallVector<int64_t> lhsOnly, rhsOnly;
};

} // namespace

static SmallVector<int64_t> loopsOf(AffineMap map) {
  SmallVector<int64_t> loops;
  for (AffineExpr expr : map.getResults())
    loops.push_back(cast<AffineDimExpr>(expr).getPosition());
  return loops;
}

static ContractionLoops classify(Sizes lhs, Sizes rhs, Sizes result) {
  ContractionLoops loops;
  for (int64_t loop : lhs) {
    bool inResult = llvm::is_contained(result, loop);
    if (llvm::is_contained(rhs, loop))
      (inResult ? loops.batch : loops.summed).push_back(loop);
    else
      (inResult ? loops.rows : loops.lhsOnly).push_back(loop);
  }
  for (int64_t loop : rhs)
    if (!llvm::is_contained(lhs, loop))
      (llvm::is_contained(result, loop) ? loops.columns : loops.rhsOnly).push_back(loop);
  return loops;
}

static SmallVector<int64_t> joined(std::initializer_list<Sizes> parts) {
  SmallVector<int64_t> all;
  for (Sizes part : parts)
    llvm::append_range(all, part);
  return all;
}

/// A tensor indexed by `from` loops, indexed by the same loops in the order `to`.
static Tensor reordered(const Tensor &tensor, Sizes from, Sizes to) {
  SmallVector<int64_t> permutation;
  for (int64_t loop : to)
    permutation.push_back(llvm::find(from, loop) - from.begin());
  return permuted(tensor, permutation);
}

/// Sums of each `length` neighbouring elements, for loops that only one operand has.
template <class T> static std::vector<T> sumRuns(const T *values, int64_t runs, int64_t length) {
  std::vector<T> sums(runs, 0);
  for (int64_t i = 0; i < runs; ++i)
    for (int64_t j = 0; j < length; ++j)
      sums[i] += values[i * length + j];
  return sums;
}

/// T is double or uint64_t: integers wrap around.
template <class T>
static void contract(const ContractionLoops &loops, Sizes sizes, const void *lhs, const void *rhs,
                     void *result) {
  auto count = [&](Sizes part) {
    int64_t points = 1;
    for (int64_t loop : part)
      points *= sizes[loop];
    return points;
  };
  int64_t batch = count(loops.batch), m = count(loops.rows), n = count(loops.columns),
          k = count(loops.summed);
  auto a = sumRuns(static_cast<const T *>(lhs), batch * m * k, count(loops.lhsOnly));
  auto b = sumRuns(static_cast<const T *>(rhs), batch * k * n, count(loops.rhsOnly));
  T *c = static_cast<T *>(result);
  std::fill_n(c, batch * m * n, T{0});
  for (int64_t i = 0; i < batch; ++i)
    addMatrixProduct(m, n, k, a.data() + i * m * k, b.data() + i * k * n, c + i * m * n);
}

Tensor ContractOp::evaluate(Tensors inputs, Sizes) {
  SmallVector<AffineMap> maps(getMaps().getAsValueRange<AffineMapAttr>());
  SmallVector<int64_t> lhs = loopsOf(maps[0]), rhs = loopsOf(maps[1]), result = loopsOf(maps[2]);
  SmallVector<int64_t> sizes(maps[0].getNumDims(), 1);
  for (auto [loop, size] : llvm::zip(lhs, inputs[0].shape()))
    sizes[loop] = size;
  for (auto [loop, size] : llvm::zip(rhs, inputs[1].shape()))
    sizes[loop] = size;

  Type element = cast<RankedTensorType>(getType()).getElementType();
  DType type = isa<FloatType>(element) ? DType::F64 : DType::I64;
  ContractionLoops loops = classify(lhs, rhs, result);
  Tensor first = getUnsignedLhs() ? withoutSign(inputs[0], getLhs()) : inputs[0];
  Tensor second = getUnsignedRhs() ? withoutSign(inputs[1], getRhs()) : inputs[1];
  Tensor a = reordered(first.converted(type), lhs,
                       joined({loops.batch, loops.rows, loops.summed, loops.lhsOnly}));
  Tensor b = reordered(second.converted(type), rhs,
                       joined({loops.batch, loops.summed, loops.columns, loops.rhsOnly}));
  SmallVector<int64_t> order = joined({loops.batch, loops.rows, loops.columns});
  Shape shape;
  for (int64_t loop : order)
    shape.push_back(sizes[loop]);
  Tensor c = Tensor::allocate(type, shape);
  if (type == DType::F64) {
    contract<double>(loops, sizes, a.data(), b.data(), c.data());
    return reordered(c, order, result);
  }
  contract<uint64_t>(loops, sizes, a.data(), b.data(), c.data());
  return wrapped(reordered(c, order, result), element);
}

} // namespace headrace::hr
