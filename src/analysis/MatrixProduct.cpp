#include "analysis/MatrixProduct.h"

#include "dialect/SizeAlgebra.h"

using namespace mlir;

namespace headrace {
namespace {

enum class Role { Batch, Row, Column, Sum };

/// The roles of an operand's dimensions in order, each role once; nothing if dimensions of one
/// role are apart or in another order than the domain's.
std::optional<std::vector<Role>> rolesOf(AffineMap map, ArrayRef<Role> roles) {
  std::vector<Role> result;
  unsigned last = 0;
  for (AffineExpr expr : map.getResults()) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    if (!result.empty() && result.back() == roles[dim]) {
      if (dim < last)
        return std::nullopt;
    } else if (llvm::is_contained(result, roles[dim])) {
      return std::nullopt;
    } else {
      result.push_back(roles[dim]);
    }
    last = dim;
  }
  return result;
}

} // namespace

std::optional<MatrixProduct> asMatrixProduct(hr::ContractOp op) {
  Movement movement = op.getMovement();
  SmallVector<Role> roles;
  MLIRContext *context = op.getContext();
  AffineExpr one = constantDim(1, context);
  MatrixProduct product{one, one, one, one};
  for (auto [dim, size] : llvm::enumerate(movement.domain)) {
    bool inA = movement.maps[0].isFunctionOfDim(dim), inB = movement.maps[1].isFunctionOfDim(dim);
    bool inC = movement.maps[2].isFunctionOfDim(dim);
    Role role = inC ? (inA && inB ? Role::Batch : inA ? Role::Row : Role::Column) : Role::Sum;
    if (!inC && inA != inB)
      return std::nullopt; // summed over in one operand alone
    roles.push_back(role);
    AffineExpr &extent = role == Role::Batch ? product.batch
                         : role == Role::Row ? product.m
                         : role == Role::Sum ? product.k
                                             : product.n;
    extent = extent * size;
  }
  std::vector<Role> orders[3];
  bool batched[3];
  for (int i = 0; i < 3; ++i) {
    auto order = rolesOf(movement.maps[i], roles);
    if (!order)
      return std::nullopt;
    batched[i] = !order->empty() && order->front() == Role::Batch;
    orders[i].assign(order->begin() + batched[i], order->end());
  }
  auto &[a, b, c] = orders;
  product.batchedA = batched[0];
  product.batchedB = batched[1];
  // A matrix may lack a side of size one altogether.
  auto matches = [](const std::vector<Role> &order, Role first, Role second) {
    if (order.size() == 2)
      return order[0] == first && order[1] == second;
    return order.size() < 2 && (order.empty() || order[0] == first || order[0] == second);
  };
  if (!matches(c, Role::Row, Role::Column))
    return std::nullopt;
  product.transposeA = !matches(a, Role::Row, Role::Sum);
  product.transposeB = !matches(b, Role::Sum, Role::Column);
  if ((product.transposeA && !matches(a, Role::Sum, Role::Row)) ||
      (product.transposeB && !matches(b, Role::Column, Role::Sum)))
    return std::nullopt;
  return product;
}

std::optional<int64_t> usesOf(hr::ContractOp op, Value operand) {
  MLIRContext *context = op.getContext();
  auto uses = exactQuotient(elementCount(op.getMovement().domain, context),
                            elementCount(shapeOf(operand), context));
  return uses ? constantValue(*uses) : std::nullopt;
}

} // namespace headrace
