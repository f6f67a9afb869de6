// Scalar expressions as operations of arith and math, in the body of an operator.
#pragma once

#include "dialect/scalar/ScalarMath.h"
#include "frontend/expr/Domain.h"

namespace headrace::expr {

class ScalarWriter {
public:
  /// `read` gives the value of an element of a tensor: a Read, whose indices it may write.
  using ReadFunction = std::function<mlir::Value(ScalarWriter &, const Expr &)>;

  ScalarWriter(mlir::OpBuilder &builder, mlir::Location loc, const Domain *domain, SizeTable *sizes,
               ReadFunction read)
      : builder(builder), math(builder, loc), domain(domain), sizes(sizes), read(std::move(read)) {}

  /// The value, written once wherever the expression is shared.
  mlir::Value write(const Expr &expr);
  /// The same, as an index.
  mlir::Value writeIndex(const Expr &expr);
  mlir::Value asIndex(mlir::Value integer);
  /// Binds an argument of a user's reduction function to its value.
  void bind(const Expr &argument, mlir::Value value) { written[argument.get()] = value; }

private:
  mlir::Value create(const Expr &expr);
  mlir::Value number(const Expr &expr);
  mlir::Value size(const Expr &expr);
  mlir::Value position(const Expr &expr);
  mlir::Value unary(const Expr &expr, mlir::Value a);
  mlir::Value function(Op op, mlir::Value a);
  mlir::Value binary(const Expr &expr, mlir::Value a, mlir::Value b);
  mlir::Value power(const Expr &expr, mlir::Value a, mlir::Value b);
  mlir::Value asInteger(mlir::Value index);

  mlir::OpBuilder &builder;
  ScalarMath math;
  const Domain *domain;
  SizeTable *sizes;
  ReadFunction read;
  std::map<const Node *, mlir::Value> written;
};

} // namespace headrace::expr
