#include "dialect/ConstantData.h"

#include "dialect/ConstantPool.h"
#include "dialect/SymbolicShape.h"
#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

using namespace mlir;

namespace headrace {

/// Up to here an attribute of its own, shared with equal ones, is worth the copy.
static constexpr size_t kInlineBytes = 1024;

/// Part by part, so that no two copies are in memory if the first one is a file's.
static Tensor copyOf(DType dtype, Shape shape, ArrayRef<char> bytes) {
  constexpr size_t kPart = 8 << 20;
  Tensor tensor = Tensor::allocate(dtype, std::move(shape));
  auto file = MappedFile::holding(bytes.data());
  for (char *to = static_cast<char *>(tensor.data()); !bytes.empty();) {
    ArrayRef<char> part = bytes.take_front(kPart);
    to = llvm::copy(part, to);
    bytes = bytes.drop_front(part.size());
    if (file)
      file->forgetPages();
  }
  return tensor;
}

static Tensor repeated(DType dtype, Shape shape, ArrayRef<char> element) {
  Tensor tensor = Tensor::allocate(dtype, std::move(shape));
  char *out = static_cast<char *>(tensor.data());
  for (int64_t i = 0; i < tensor.elements(); ++i, out += element.size())
    std::memcpy(out, element.data(), element.size());
  return tensor;
}

/// MLIR packs booleans eight to a byte.
static Tensor unpackedBools(DenseElementsAttr attribute, Shape shape) {
  Tensor tensor = Tensor::allocate(DType::Bool, std::move(shape));
  llvm::copy(attribute.getValues<bool>(), tensor.as<uint8_t>());
  return tensor;
}

/// MLIR leaves open what stands above 4-bit numbers and less.
static Tensor signExtended(Tensor tensor) {
  Tensor result = Tensor::allocate(tensor.dtype(), tensor.shape());
  int bits = bitsInByte(tensor.dtype());
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.as<int8_t>()[i] = static_cast<int8_t>(lowBits(tensor.as<uint8_t>()[i], bits, true));
  return result;
}

static Tensor storedTensor(ElementsAttr attribute);

Tensor constantTensor(ElementsAttr attribute) {
  Tensor tensor = storedTensor(attribute);
  bool isExtended = bitsInByte(tensor.dtype()) != 0 && storageOf(tensor.dtype()) == DType::I8;
  return isExtended ? signExtended(tensor) : tensor;
}

static Tensor storedTensor(ElementsAttr attribute) {
  auto type = cast<RankedTensorType>(attribute.getShapedType());
  DType dtype = toDType(type.getElementType());
  Shape shape(type.getShape().begin(), type.getShape().end());
  ArrayRef<char> bytes;
  StringRef key; // of a resource
  std::shared_ptr<const void> owner;
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute)) {
    if (dtype == DType::Bool)
      return unpackedBools(dense, std::move(shape));
    bytes = dense.getRawData();
    if (dense.isSplat())
      return repeated(dtype, std::move(shape), bytes);
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      throw Error(ErrorKind::InvalidModel, "constant '" + resource.getRawHandle().getKey().str() +
                                               "': expected data, got none");
    bytes = blob->getData();
    key = resource.getRawHandle().getKey();
    owner = ConstantPool::of(type.getContext()).ownerOf(key);
  } else {
    throw InternalError("a constant is neither dense nor a resource");
  }

  size_t expected = static_cast<size_t>(elementCount(shape)) * sizeOf(dtype);
  if (bytes.size() != expected)
    throw Error(ErrorKind::InvalidModel, "constant of shape " + shapeString(shape) + ": expected " +
                                             std::to_string(expected) + " bytes, got " +
                                             std::to_string(bytes.size()));
  if (reinterpret_cast<uintptr_t>(bytes.data()) % sizeOf(dtype) == 0)
    return Tensor::borrow(dtype, std::move(shape), bytes.data(), owner);
  if (key.empty())
    return copyOf(dtype, std::move(shape), bytes);
  auto copy =
      ConstantPool::of(type.getContext()).copyOf(key, [&] { return copyOf(dtype, shape, bytes); });
  return Tensor::borrow(dtype, std::move(shape), copy->data(), copy);
}

static bool allElementsEqual(const Tensor &tensor) {
  size_t step = sizeOf(tensor.dtype());
  auto *bytes = static_cast<const char *>(tensor.data());
  return tensor.elements() > 0 && std::memcmp(bytes, bytes + step, tensor.bytes() - step) == 0;
}

ElementsAttr tensorAttribute(const Tensor &tensor, RankedTensorType type) {
  if (!llvm::equal(tensor.shape(), type.getShape()) ||
      tensor.dtype() != toDType(type.getElementType()))
    throw InternalError("a constant's tensor of shape " + shapeString(tensor.shape()) +
                        " does not fit its type");
  ArrayRef<char> bytes(static_cast<const char *>(tensor.data()), tensor.bytes());
  bool isSplat = allElementsEqual(tensor);
  bool isKnownToMlir = tensor.dtype() != DType::F4E2M1 && tensor.dtype() != DType::F8E8M0;
  if (isKnownToMlir && (isSplat || bytes.size() <= kInlineBytes)) {
    size_t stored = isSplat ? 1 : tensor.elements();
    if (tensor.dtype() != DType::Bool)
      return DenseElementsAttr::getFromRawBuffer(type,
                                                 bytes.take_front(stored * sizeOf(tensor.dtype())));
    SmallVector<bool> values;
    for (uint8_t byte : ArrayRef(tensor.as<uint8_t>(), stored))
      values.push_back(byte != 0);
    return DenseElementsAttr::get(type, values);
  }
  return ConstantPool::of(type.getContext()).add(tensor, type);
}

/// Zeros that all unknown constants share. The system gives memory to pages that are written only.
static const void *zeros(size_t bytes) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<void, decltype(&std::free)>> blocks; // none is ever given back
  static size_t held = 0;
  std::lock_guard lock(mutex);
  if (bytes > held) {
    held = std::max(bytes, 2 * held);
    blocks.emplace_back(std::calloc(held, 1), &std::free);
    if (!blocks.back())
      throw std::bad_alloc();
  }
  return blocks.back().get();
}

ElementsAttr unknownConstant(RankedTensorType type) {
  DType dtype = toDType(type.getElementType());
  Shape shape(type.getShape().begin(), type.getShape().end());
  size_t bytes = static_cast<size_t>(elementCount(shape)) * sizeOf(dtype);
  Tensor tensor = Tensor::borrow(dtype, std::move(shape), zeros(bytes), nullptr);
  return ConstantPool::of(type.getContext()).add(tensor, type);
}

} // namespace headrace
