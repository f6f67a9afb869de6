#include "dialect/reference/Reference.h"

#include "dialect/SymbolicShape.h"
#include "dialect/scalar/StorageType.h"

#include <cstring>

using namespace mlir;

namespace headrace::reference {

DType wideType(Type elementType) {
  if (isPlainFloat(elementType))
    return DType::F64;
  return elementType.isInteger(1) ? DType::Bool : DType::I64;
}

Tensor widened(const Tensor &tensor, Type elementType) {
  return tensor.viewedAs(storageOf(tensor.dtype())).converted(wideType(elementType));
}

Tensor narrowed(const Tensor &wide, DType dtype) {
  return wide.converted(storageOf(dtype)).viewedAs(dtype);
}

int64_t evaluateSize(AffineExpr expr, Sizes symbols) {
  return toDimExpr(expr).evaluate({symbols.data(), symbols.size()});
}

Shape resultShape(Value result, Sizes symbols) {
  Shape shape;
  for (AffineExpr dim : shapeOf(result))
    shape.push_back(evaluateSize(dim, symbols));
  return shape;
}

Tensor allocateResult(Value result, Sizes symbols) {
  auto type = cast<RankedTensorType>(result.getType());
  return Tensor::allocate(wideType(type.getElementType()), resultShape(result, symbols));
}

int64_t wrapToType(int64_t value, Type elementType) {
  if (isSmallFloat(elementType) || isSmallInteger(elementType))
    return elementType.isSignlessInteger() ? llvm::SignExtend64(value, 8) : value & 0xff;
  auto integer = dyn_cast<IntegerType>(elementType);
  if (!integer || integer.getWidth() >= 64)
    return value;
  uint64_t bits = static_cast<uint64_t>(value);
  if (integer.isUnsigned() || integer.getWidth() == 1)
    return static_cast<int64_t>(bits & llvm::maskTrailingOnes<uint64_t>(integer.getWidth()));
  return llvm::SignExtend64(bits, integer.getWidth());
}

Tensor wrapped(const Tensor &integers, Type elementType) {
  Tensor result = Tensor::allocate(wideType(elementType), integers.shape());
  const int64_t *from = integers.as<int64_t>();
  withElement(result.dtype(), [&](auto zero) {
    auto *to = result.as<decltype(zero)>();
    for (int64_t i = 0; i < integers.elements(); ++i)
      to[i] = wrapToType(from[i], elementType);
  });
  return result;
}

Tensor withoutSign(const Tensor &integers, Value value) {
  unsigned width = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  return wrapped(integers, IntegerType::get(value.getContext(), width, IntegerType::Unsigned));
}

SmallVector<int64_t> rowMajorStrides(Sizes shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i)
    strides[i - 2] = strides[i - 1] * shape[i - 1];
  return strides;
}

bool advance(MutableArrayRef<int64_t> index, Sizes sizes) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < sizes[d])
      return true;
    index[d] = 0;
  }
  return false;
}

template <class T>
static void copyElements(Sizes sizes, const T *from, const Placement &source, T *to,
                         const Placement &target) {
  // The last dimension is a plain loop, the others an index that is stepped.
  Sizes outer = sizes.drop_back();
  int64_t row = sizes.back(), sourceStep = source.strides.back(),
          targetStep = target.strides.back();
  SmallVector<int64_t> index(outer.size(), 0);
  do {
    int64_t read = source.offset, write = target.offset;
    for (size_t d = 0; d < outer.size(); ++d) {
      read += index[d] * source.strides[d];
      write += index[d] * target.strides[d];
    }
    for (int64_t i = 0; i < row; ++i)
      to[write + i * targetStep] = from[read + i * sourceStep];
  } while (advance(index, outer));
}

void copyBlock(Sizes sizes, const Tensor &from, const Placement &source, Tensor &to,
               const Placement &target) {
  if (llvm::is_contained(sizes, 0))
    return;
  if (sizes.empty()) {
    Placement first{source.offset, {0}}, second{target.offset, {0}};
    return copyBlock({1}, from, first, to, second);
  }
  withElement(from.dtype(), [&](auto zero) {
    using T = decltype(zero);
    copyElements(sizes, from.as<T>(), source, to.as<T>(), target);
  });
}

Tensor permuted(const Tensor &tensor, Sizes permutation) {
  SmallVector<int64_t> strides = rowMajorStrides(tensor.shape());
  Shape shape;
  Placement source;
  for (int64_t dim : permutation) {
    shape.push_back(tensor.shape()[dim]);
    source.strides.push_back(strides[dim]);
  }
  Tensor result = Tensor::allocate(tensor.dtype(), shape);
  copyBlock(shape, tensor, source, result, {0, rowMajorStrides(shape)});
  return result;
}

Tensor broadcastTo(const Tensor &tensor, const Shape &shape) {
  if (tensor.shape() == shape)
    return tensor;
  size_t added = shape.size() - tensor.shape().size();
  SmallVector<int64_t> strides = rowMajorStrides(tensor.shape());
  Placement source{0, SmallVector<int64_t>(shape.size(), 0)};
  for (auto [i, size] : llvm::enumerate(tensor.shape())) {
    if (size != 1 && size != shape[added + i])
      throw InternalError("a tensor of shape " + shapeString(tensor.shape()) + " is broadcast to " +
                          shapeString(shape));
    source.strides[added + i] = size == 1 ? 0 : strides[i];
  }
  Tensor result = Tensor::allocate(tensor.dtype(), shape);
  copyBlock(shape, tensor, source, result, {0, rowMajorStrides(shape)});
  return result;
}

SmallVector<int64_t> lastToSecond(int64_t rank) {
  SmallVector<int64_t> order{0, rank - 1};
  llvm::append_range(order, llvm::seq<int64_t>(1, rank - 1));
  return order;
}

SmallVector<int64_t> secondToLast(int64_t rank) {
  SmallVector<int64_t> order{0};
  llvm::append_range(order, llvm::seq<int64_t>(2, rank));
  order.push_back(1);
  return order;
}

} // namespace headrace::reference
