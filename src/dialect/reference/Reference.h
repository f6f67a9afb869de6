// Common ground of the reference evaluations: values in wide types (double, int64_t, a byte per
// boolean) and strided copies between them.
#pragma once

#include "dialect/Hr.h"
#include "runtime/system/Error.h"

#include <numeric>

namespace headrace::reference {

using Tensors = llvm::ArrayRef<Tensor>;
using Sizes = llvm::ArrayRef<int64_t>;

/// F64, I64 or Bool, whichever holds values of this element type. Floats of at most 8
/// bits, with which nothing computes, are held by their bits in I64.
DType wideType(mlir::Type elementType);

/// Elements of this type in the wide one, and back.
Tensor widened(const Tensor &tensor, mlir::Type elementType);
Tensor narrowed(const Tensor &wide, DType dtype);

/// The value of an expression over the program's symbols.
int64_t evaluateSize(mlir::AffineExpr expr, Sizes symbols);

/// The result's shape for these values of the symbols.
Shape resultShape(mlir::Value result, Sizes symbols);

/// An uninitialized tensor of the result's shape and wide type.
Tensor allocateResult(mlir::Value result, Sizes symbols);

/// An integer brought back to the range of its declared type: sign-extended, unsigned types and
/// booleans zero-extended.
int64_t wrapToType(int64_t value, mlir::Type elementType);

/// Integers (I64) brought back to the range of an element type, in its wide type.
Tensor wrapped(const Tensor &integers, mlir::Type elementType);

/// Integers (I64) of a value whose bits are those of unsigned numbers, as these.
Tensor withoutSign(const Tensor &integers, mlir::Value value);

/// Calls `visit` with a zero of the C++ type that holds the elements.
template <class Visitor> void withElement(DType wide, Visitor visit) {
  if (wide == DType::F64)
    return visit(double{});
  if (wide == DType::I64)
    return visit(int64_t{});
  if (wide == DType::Bool)
    return visit(uint8_t{});
  throw InternalError("a reference value has the type " + std::string(nameOf(wide)));
}

/// Row-major distances between neighbours along each dimension.
llvm::SmallVector<int64_t> rowMajorStrides(Sizes shape);

inline int64_t product(Sizes sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

/// Steps a multi-dimensional index to its row-major successor; false after the last one.
bool advance(llvm::MutableArrayRef<int64_t> index, Sizes sizes);

/// Where an element of a block of some sizes is in a tensor.
struct Placement {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

/// Copies a block of elements from one placement to another; both must be inside their tensors.
void copyBlock(Sizes sizes, const Tensor &from, const Placement &source, Tensor &to,
               const Placement &target);

/// The tensor with its dimensions in another order.
Tensor permuted(const Tensor &tensor, Sizes permutation);

/// The tensor repeated to a larger shape, as in NumPy.
Tensor broadcastTo(const Tensor &tensor, const Shape &shape);

/// The order of dimensions that brings the last one to position 1 (channels first), and back.
llvm::SmallVector<int64_t> lastToSecond(int64_t rank);
llvm::SmallVector<int64_t> secondToLast(int64_t rank);

} // namespace headrace::reference
