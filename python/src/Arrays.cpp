#include "Arrays.h"

#include "runtime/system/Error.h"

#include "Interpreter.h"
#include <cstring>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig>;

} // namespace

nb::dlpack::dtype exchangeType(DType type) {
  using Code = nb::dlpack::dtype_code;
  auto make = [&](Code code) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(sizeOf(type) * 8), 1};
  };
  switch (type) {
  case DType::Bool:
    return make(Code::Bool);
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
    return make(Code::Int);
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    return make(Code::UInt);
  case DType::BF16:
    return make(Code::Bfloat);
  case DType::F16:
  case DType::F32:
  case DType::F64:
    return make(Code::Float);
  default: // types for storage, which no array has
    return {0xff, 8, 1};
  }
}

namespace {

// NumPy knows bf16 and narrower types only from another package, which DLPack and buffers do not
// carry: they are exchanged as the numbers in memory.
nb::dlpack::dtype numpyType(DType type) {
  return exchangeType(type == DType::BF16 ? DType::U16 : storageOf(type));
}

bool aligned(const AnyArray &array) {
  return reinterpret_cast<uintptr_t>(array.data()) % array.itemsize() == 0;
}

Tensor borrow(AnyArray array, DType type) {
  Shape shape(array.shape_ptr(), array.shape_ptr() + array.ndim());
  const void *data = array.data();
  MemorySpace place;
  if (array.device_type() == nb::device::cuda::value)
    place.device = array.device_id();
  // The last copy of a tensor may go away in a thread that does not hold the interpreter.
  std::shared_ptr<const void> owner(new AnyArray(std::move(array)), deleteLocked<const AnyArray>);
  return Tensor::borrow(type, std::move(shape), data, std::move(owner), place);
}

// Empty unless the value is a C-ordered array of this type, in host memory or on a CUDA device.
Tensor tryBorrow(nb::handle value, DType type, nb::dlpack::dtype expected) {
  AnyArray array;
  if (!nb::try_cast(value, array, /*convert=*/false) || array.dtype() != expected ||
      !aligned(array) ||
      (array.device_type() != nb::device::cpu::value &&
       array.device_type() != nb::device::cuda::value))
    return {};
  return borrow(std::move(array), type);
}

Tensor copied(const Tensor &tensor) {
  Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
  if (tensor.bytes() != 0)
    std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  return copy;
}

} // namespace

Tensor tensorFromPython(nb::handle value, const TensorSpec &spec, size_t index,
                        nb::handle convert) {
  if (Tensor tensor = tryBorrow(value, spec.dtype, exchangeType(spec.dtype)))
    return tensor;
  nb::object converted = convert(value, index);
  if (Tensor tensor = tryBorrow(converted, spec.dtype, exchangeType(spec.dtype)))
    return tensor;
  if (Tensor tensor = tryBorrow(converted, spec.dtype, numpyType(spec.dtype)))
    return tensor;
  throw InternalError("input '" + spec.name + "': the converted array does not fit");
}

nb::object tensorToNumpy(Tensor tensor) {
  // Whoever else holds the memory (an input, a constant) must not see the caller write to it.
  if (tensor.owner().use_count() != 1)
    tensor = copied(tensor);
  std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
  void *data = tensor.data();
  nb::dlpack::dtype type = numpyType(tensor.dtype());
  auto held = std::make_unique<Tensor>(std::move(tensor));
  nb::capsule owner(held.get(),
                    [](void *memory) noexcept { delete static_cast<Tensor *>(memory); });
  (void)held.release();
  nb::ndarray<nb::numpy> array(data, shape.size(), shape.data(), owner, nullptr, type);
  return nb::cast(array, nb::rv_policy::reference);
}

} // namespace headrace::python
