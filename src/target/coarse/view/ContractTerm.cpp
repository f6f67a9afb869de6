// A sum of products as one of matrices, or of a matrix with a vector.
#include "dialect/SymbolicShape.h"
#include "target/coarse/view/OperatorTerms.h"

using namespace mlir;

namespace headrace::coarse {

using rewrite::Shape;
using rewrite::ShapedTerm;

namespace {

/// Iteration dimensions by the tensors that have them.
struct Roles {
  SmallVector<int64_t> shared, lhs, rhs, summed; // shared ones are of all three tensors
};

bool has(ArrayRef<int64_t> dims, int64_t dim) { return llvm::is_contained(dims, dim); }

Roles rolesOf(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs, ArrayRef<int64_t> result) {
  Roles roles;
  for (int64_t dim : result)
    (has(lhs, dim) && has(rhs, dim) ? roles.shared
     : has(lhs, dim)                ? roles.lhs
                                    : roles.rhs)
        .push_back(dim);
  for (int64_t dim : lhs)
    if (!has(result, dim))
      roles.summed.push_back(dim);
  for (int64_t dim : rhs)
    if (!has(result, dim) && !has(lhs, dim))
      refuse("sums over an axis of one factor alone");
  for (int64_t dim : roles.summed)
    if (!has(rhs, dim))
      refuse("sums over an axis of one factor alone");
  return roles;
}

class Contraction {
public:
  Contraction(hr::ContractOp op, rewrite::TermBuilder &builder, const BatchAxis &batch)
      : builder(builder) {
    auto maps = llvm::to_vector(op.getMaps().getAsValueRange<AffineMapAttr>());
    lhs = dimsOf(op.getLhs(), maps[0], batch);
    rhs = dimsOf(op.getRhs(), maps[1], batch);
    result = dimsOf(op.getResult(), maps[2], batch);
    roles = rolesOf(lhs, rhs, result);
  }

  ShapedTerm term(const ShapedTerm &a, const ShapedTerm &b) {
    ShapedTerm product;
    SmallVector<int64_t> order = roles.shared;
    if (roles.lhs.empty()) {
      product = builder.apply("mv", {}, {arranged(b, rhs, &roles.rhs), arranged(a, lhs, nullptr)});
    } else if (roles.rhs.empty()) {
      product = builder.apply("mv", {}, {arranged(a, lhs, &roles.lhs), arranged(b, rhs, nullptr)});
    } else {
      product = builder.apply("contract", {},
                              {arranged(a, lhs, &roles.lhs), arranged(b, rhs, &roles.rhs)});
    }
    order.append(roles.lhs);
    order.append(roles.rhs);
    Shape shape;
    for (int64_t dim : order)
      shape.push_back(sizes[dim]);
    std::vector<int64_t> places;
    for (int64_t dim : result)
      places.push_back(llvm::find(order, dim) - order.begin());
    return builder.permuted(builder.reshaped(product, shape), places);
  }

private:
  /// The iteration dimensions that index a tensor's inner shape.
  SmallVector<int64_t> dimsOf(Value value, AffineMap map, const BatchAxis &batch) {
    SmallVector<int64_t> dims;
    Shape shape = batch.inner(value);
    ArrayRef<AffineExpr> exprs = map.getResults().drop_front(batch.leads(value) ? 1 : 0);
    if (batch.leads(value)) {
      AffineExpr leading = map.getResult(0);
      if (batched && leading != batched)
        refuse("the first axes of its tensors are not one");
      batched = leading;
    }
    for (auto [expr, size] : llvm::zip_equal(exprs, shape)) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || expr == batched || has(dims, dim.getPosition()))
        refuse("does not read its factors axis by axis");
      dims.push_back(dim.getPosition());
      sizes[dims.back()] = size;
    }
    return dims;
  }

  /// A factor with its own dimensions as one axis, if it is to have one, and the summed ones as the
  /// last.
  ShapedTerm arranged(const ShapedTerm &factor, ArrayRef<int64_t> dims,
                      const SmallVector<int64_t> *own) {
    SmallVector<int64_t> order = roles.shared;
    if (own)
      order.append(*own);
    order.append(roles.summed);
    std::vector<int64_t> places;
    for (int64_t dim : order)
      places.push_back(llvm::find(dims, dim) - dims.begin());
    Shape shape;
    for (int64_t dim : roles.shared)
      shape.push_back(sizes[dim]);
    if (own)
      shape.push_back(product(*own));
    shape.push_back(product(roles.summed));
    return builder.reshaped(builder.permuted(factor, places), shape);
  }

  int64_t product(ArrayRef<int64_t> dims) {
    int64_t size = 1;
    for (int64_t dim : dims)
      size *= sizes[dim];
    return size;
  }

  rewrite::TermBuilder &builder;
  SmallVector<int64_t> lhs, rhs, result;
  Roles roles;
  llvm::DenseMap<int64_t, int64_t> sizes; // of iteration dimensions
  AffineExpr batched;
};

} // namespace

ShapedTerm contractTerm(hr::ContractOp op, rewrite::TermBuilder &builder, OperandTerms &operands,
                        const BatchAxis &batch) {
  Contraction contraction(op, builder, batch);
  return contraction.term(operands.of(op.getLhs()), operands.of(op.getRhs()));
}

} // namespace headrace::coarse
