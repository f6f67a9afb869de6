#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

#include <algorithm>

namespace headrace::aten {

/// x * factor, in the result's type.
static Node scaled(Call &c, Node x, const Value &factor) {
  if (factor.isNone() || numberIn(factor) == 1.0)
    return x;
  return c.mapAs(c.type(), "mul", {x, factor});
}

static Write product(const std::string &a, const std::string &b) {
  return [a, b](Call &c) -> Value { return c.b.matrixProduct(c.tensor(a), c.tensor(b)); };
}

static Write addedProduct(const std::string &a, const std::string &b) {
  return [a, b](Call &c) -> Value {
    Node result = scaled(c, c.b.matrixProduct(c.tensor(a), c.tensor(b)), c["alpha"]);
    if (numberIn(c["beta"]) == 0.0)
      return c.b.broadcast(result, c.shape());
    return c.map("add", {result, scaled(c, c.tensor("self"), c["beta"])});
  };
}

/// The sum of the products of all matrices of two batches.
static Value addedBatchSum(Call &c) {
  Node a = c.tensor("batch1"), b = c.tensor("batch2");
  c.require(c.rank(a) == 3 && c.rank(b) == 3, "batches of matrices");
  Node sum = c.b.contract("bmk,bkn->mn", a, b);
  sum = scaled(c, sum, c["alpha"]);
  if (numberIn(c["beta"]) == 0.0)
    return sum;
  return c.map("add", {sum, scaled(c, c.tensor("self"), c["beta"])});
}

static Value linear(Call &c) {
  Node x = c.tensor("input"), weight = c.tensor("weight");
  c.require(c.rank(x) >= 1 && c.rank(x) <= 8 && c.rank(weight) >= 1 && c.rank(weight) <= 2,
            "a matrix as weight, and rows");
  std::string outer = std::string("abcdefgh").substr(0, c.rank(x) - 1);
  Node result = c.rank(weight) == 1 ? c.b.contract(outer + "k,k->" + outer, x, weight)
                                    : c.b.contract(outer + "k,nk->" + outer + "n", x, weight);
  auto bias = c.optionalTensor("bias");
  return bias ? c.map("add", {result, *bias}) : result;
}

/// The contraction of two operands, in which every letter of the result is one of theirs.
static Value einsum(Call &c) {
  std::string equation = c.text("equation", "");
  std::erase(equation, ' ');
  std::vector<Node> operands = c.tensors("tensors");
  size_t comma = equation.find(','), arrow = equation.find("->");
  if (arrow < comma || operands.size() != 2 || comma == std::string::npos ||
      arrow == std::string::npos || equation.find('.') != std::string::npos)
    c.unsupported("einsum '" + equation + "'");
  std::string lhs = equation.substr(0, comma), rhs = equation.substr(comma + 1, arrow - comma - 1);
  for (char letter : equation.substr(arrow + 2))
    c.require((lhs + rhs).find(letter) != std::string::npos, "letters of operands in the result");
  c.require(static_cast<int64_t>(lhs.size()) == c.rank(operands[0]) &&
                static_cast<int64_t>(rhs.size()) == c.rank(operands[1]),
            "a letter for each dimension");
  return c.b.contract(equation, operands[0], operands[1]);
}

/// The sum of products of three tensors, each with further dimensions of size 1.
static Value trilinear(Call &c) {
  Integers axes = c.integers("sumdim");
  auto expanded = [&](const char *name, const char *dimensions) {
    return c.unsqueeze(c.tensor(name), c.integers(dimensions));
  };
  Node pair = c.map("mul", {expanded("i1", "expand1"), expanded("i2", "expand2")});
  Node all = c.map("mul", {pair, expanded("i3", "expand3")});
  for (int64_t &axis : axes)
    axis = c.checkedAxis(axis, c.rank(all));
  return c.b.reshape(reduced(c, "sum", all, axes, false), c.shape());
}

Operators productOperators() {
  return {
      {"mm", product("self", "mat2")},
      {"matmul", product("self", "other")},
      {"__matmul__", product("self", "other")},
      {"bmm", product("self", "mat2")},
      {"mv", product("self", "vec")},
      {"dot", product("self", "tensor")},
      {"addmm.default", addedProduct("mat1", "mat2")},
      {"baddbmm", addedProduct("batch1", "batch2")},
      {"addmv", addedProduct("mat", "vec")},
      {"addbmm", addedBatchSum},
      {"linear", linear},
      {"einsum", einsum},
      {"_trilinear", trilinear},
  };
}

} // namespace headrace::aten
