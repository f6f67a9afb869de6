// Writes `hr.compute`: any scalar function of elements that affine maps or indices pick.
#pragma once

#include "frontend/common/OperatorBuilder.h"

namespace headrace {

/// A tensor read at a place that the point's position gives: one expression per dimension of it.
struct Read {
  mlir::Value tensor;
  llvm::SmallVector<mlir::AffineExpr> at;
};

struct Compute {
  /// Sizes of the result, then of the dimensions that are reduced.
  SymbolicShape domain;
  unsigned reduced = 0;
  hr::ReduceKind combine = hr::ReduceKind::Sum;
  std::vector<Read> reads;
  /// Tensors of which the body takes elements by index.
  llvm::SmallVector<mlir::Value> tables;
};

/// The body of a compute: formulas at one point of its domain. Positions, sizes and indices are
/// 64-bit integers.
class PointMath : public ScalarMath {
public:
  PointMath(mlir::OpBuilder &builder, mlir::Location loc, const Compute &compute,
            mlir::ValueRange arguments)
      : ScalarMath(builder, loc), builder(builder), loc(loc), compute(compute),
        arguments(arguments) {}

  using Value = mlir::Value;

  /// The element that the i-th read picks.
  Value read(size_t i) const { return arguments[i]; }
  Value position(size_t dim);
  Value size(mlir::AffineExpr size);
  Value integer(int64_t value) {
    return builder.create<mlir::arith::ConstantOp>(loc, builder.getI64IntegerAttr(value));
  }
  /// The element of a table; an index outside counts as the nearest inside.
  Value element(size_t table, llvm::ArrayRef<Value> indices);

  Value both(Value a, Value b) { return op<mlir::arith::AndIOp>(a, b); }
  Value either(Value a, Value b) { return op<mlir::arith::OrIOp>(a, b); }
  Value less(Value a, Value b) { return this->ScalarMath::compare(Compare::Less, a, b); }
  Value equal(Value a, Value b) { return this->ScalarMath::compare(Compare::Equal, a, b); }
  /// Whether 0 <= a < high.
  Value isInside(Value a, Value high);
  /// An index that counts from the end if it is negative.
  Value fromEnd(Value index, mlir::AffineExpr size);
  Value isNaN(Value a);
  /// The float rounded down.
  Value floor(Value a) { return op<mlir::math::FloorOp>(a); }
  Value toInteger(Value a) { return convert(a, builder.getI64Type()); }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const Compute &compute;
  mlir::ValueRange arguments;
};

using PointFormula = llvm::function_ref<mlir::Value(PointMath &)>;

/// The tensor that the formula gives; evaluated at once if it reads nothing and sizes are known.
mlir::Value writeCompute(OperatorBuilder &b, const Compute &compute, PointFormula formula);

/// Dimensions [begin, end) of a domain, as places of reads.
llvm::SmallVector<mlir::AffineExpr> dimensions(OperatorBuilder &b, unsigned begin, unsigned end);

} // namespace headrace
