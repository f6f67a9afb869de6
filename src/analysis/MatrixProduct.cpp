#include "analysis/MatrixProduct.h"

using namespace mlir;

namespace headrace {
namespace {

enum class Role { Batch, Row, Column, Sum };

/// The roles of an operand's dimensions in order, each role once; empty where dimensions of one
/// role are apart or in another order than in `reference`.
std::vector<Role> rolesOf(AffineMap map, ArrayRef<Role> roles) {
  std::vector<Role> result;
  unsigned last = 0;
  for (AffineExpr expr : map.getResults()) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    if (!result.empty() && result.back() == roles[dim]) {
      if (dim < last)
        return {};
    } else if (llvm::is_contained(result, roles[dim])) {
      return {};
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
  auto strip = [](std::vector<Role> order, bool &batched) {
    batched = !order.empty() && order.front() == Role::Batch;
    if (batched)
      order.erase(order.begin());
    return order;
  };
  // A matrix may lack a side of size one altogether.
  auto matches = [](const std::vector<Role> &order, Role first, Role second) {
    if (order.size() == 2)
      return order[0] == first && order[1] == second;
    return order.size() < 2 && (order.empty() || order[0] == first || order[0] == second);
  };
  bool batchedC = false;
  std::vector<Role> a = strip(rolesOf(movement.maps[0], roles), product.batchedA);
  std::vector<Role> b = strip(rolesOf(movement.maps[1], roles), product.batchedB);
  std::vector<Role> c = strip(rolesOf(movement.maps[2], roles), batchedC);
  const std::vector<Role> *orders[] = {&a, &b, &c};
  for (auto [order, map] : llvm::zip(orders, movement.maps))
    if (order->empty() && map.getNumResults() > 0 && !llvm::is_contained(roles, Role::Batch))
      return std::nullopt;
  if (!matches(c, Role::Row, Role::Column))
    return std::nullopt;
  product.transposeA = !matches(a, Role::Row, Role::Sum);
  product.transposeB = !matches(b, Role::Sum, Role::Column);
  if ((product.transposeA && !matches(a, Role::Sum, Role::Row)) ||
      (product.transposeB && !matches(b, Role::Column, Role::Sum)))
    return std::nullopt;
  return product;
}

} // namespace headrace
