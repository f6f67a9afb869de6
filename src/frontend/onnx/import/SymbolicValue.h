// Integer tensors whose elements are known at import as expressions of the dynamic dimensions, for
// the shape arithmetic in a model.
#pragma once

#include "dialect/SizeAlgebra.h"
#include "dialect/SymbolicShape.h"
#include "runtime/tensor/Tensor.h"

namespace headrace::onnx {

/// Tensors of more elements are data, not shapes.
inline constexpr int64_t kMaxKnownElements = 1024;

struct SymbolicValue {
  DType dtype = DType::I64;
  Shape shape;
  SymbolicShape elements;

  /// The elements as numbers; nullopt if one depends on a dynamic dimension.
  std::optional<std::vector<int64_t>> constants() const;
};

bool isIntegerOrBool(DType dtype);

/// A vector of 64-bit integers.
SymbolicValue symbolicVector(llvm::ArrayRef<mlir::AffineExpr> elements);

/// The elements of a small integer or boolean tensor; nullopt for any other.
std::optional<SymbolicValue> symbolicValue(const Tensor &tensor, mlir::MLIRContext *context);

/// A known value without dynamic dimensions, as data.
Tensor toTensor(const SymbolicValue &value, llvm::ArrayRef<int64_t> constants);

} // namespace headrace::onnx
