#include "dialect/reference/Lanes.h"

#include "dialect/scalar/ScalarFunctions.h"
#include "dialect/scalar/StorageType.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace headrace::reference {

unsigned widthOf(Type type) {
  return type.isIndex() ? 64 : storageType(type).getIntOrFloatBitWidth();
}

Lanes loadLanes(const Tensor &tensor, Type elementType, int64_t begin, int64_t count) {
  Lanes lanes;
  if (isPlainFloat(elementType)) {
    const double *from = tensor.as<double>() + begin;
    lanes.floats.assign(from, from + count);
    return lanes;
  }
  lanes.integers.resize(count);
  for (int64_t i = 0; i < count; ++i)
    lanes.integers[i] = tensor.dtype() == DType::Bool
                            ? -int64_t{tensor.as<uint8_t>()[begin + i] != 0}
                            : signedBits(tensor.as<int64_t>()[begin + i], widthOf(elementType));
  return lanes;
}

void storeLanes(const Lanes &lanes, Type elementType, Tensor &tensor, int64_t begin) {
  if (isPlainFloat(elementType)) {
    llvm::copy(lanes.floats, tensor.as<double>() + begin);
    return;
  }
  withElement(tensor.dtype(), [&](auto zero) {
    auto *to = tensor.as<decltype(zero)>() + begin;
    for (int64_t value : lanes.integers)
      *to++ = wrapToType(value, elementType);
  });
}

std::vector<int64_t> valuesAt(AffineExpr expr, const std::vector<Lanes> &positions, int64_t count,
                              unsigned firstSymbol) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return positions[dim.getPosition()].integers;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return positions[firstSymbol + symbol.getPosition()].integers;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::vector<int64_t>(count, constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::vector<int64_t> values = valuesAt(binary.getLHS(), positions, count, firstSymbol);
  std::vector<int64_t> others = valuesAt(binary.getRHS(), positions, count, firstSymbol);
  auto combine = [&](auto function) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = function(values[i], others[i]);
    return std::move(values);
  };
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return combine(std::plus<int64_t>());
  case AffineExprKind::Mul:
    return combine(std::multiplies<int64_t>());
  case AffineExprKind::FloorDiv:
    return combine([](int64_t a, int64_t b) { return llvm::divideFloorSigned(a, b); });
  case AffineExprKind::CeilDiv:
    return combine([](int64_t a, int64_t b) { return llvm::divideCeilSigned(a, b); });
  case AffineExprKind::Mod:
    return combine([](int64_t a, int64_t b) { return llvm::mod(a, b); });
  default:
    throw InternalError("unknown kind of index");
  }
}

std::vector<int64_t> placesAt(AffineMap map, const std::vector<Lanes> &positions, int64_t count,
                              Sizes shape, StringRef reader) {
  std::vector<int64_t> places(count, 0);
  for (auto [expr, size] : llvm::zip(map.getResults(), shape)) {
    std::vector<int64_t> indices = valuesAt(expr, positions, count);
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = indices[i];
      if (index < 0 || index >= size)
        throw InternalError(reader.str() + " reads element " + std::to_string(index) +
                            " of a dimension of size " + std::to_string(size));
      places[i] = places[i] * size + index;
    }
  }
  return places;
}

Lanes gatherLanes(const Tensor &tensor, Type elementType, ArrayRef<int64_t> places) {
  Lanes lanes;
  if (isPlainFloat(elementType)) {
    const double *from = tensor.as<double>();
    for (int64_t place : places)
      lanes.floats.push_back(from[place]);
    return lanes;
  }
  unsigned width = widthOf(elementType);
  bool isBool = tensor.dtype() == DType::Bool;
  for (int64_t place : places)
    lanes.integers.push_back(isBool ? -int64_t{tensor.as<uint8_t>()[place] != 0}
                                    : signedBits(tensor.as<int64_t>()[place], width));
  return lanes;
}

void scatterLanes(const Lanes &lanes, Type elementType, Tensor &tensor, ArrayRef<int64_t> places) {
  if (isPlainFloat(elementType)) {
    for (auto [place, value] : llvm::zip_equal(places, lanes.floats))
      tensor.as<double>()[place] = value;
    return;
  }
  withElement(tensor.dtype(), [&](auto zero) {
    auto *to = tensor.as<decltype(zero)>();
    for (auto [place, value] : llvm::zip_equal(places, lanes.integers))
      to[place] = wrapToType(value, elementType);
  });
}

void setPositions(std::vector<Lanes> &positions, ArrayRef<unsigned> dimensions, Sizes sizes,
                  int64_t begin, int64_t count) {
  int64_t distance = 1;
  for (auto [dimension, size] : llvm::reverse(llvm::zip_equal(dimensions, sizes))) {
    std::vector<int64_t> &along = positions[dimension].integers;
    along.resize(count);
    for (int64_t i = 0; i < count; ++i)
      along[i] = (begin + i) / distance % size;
    distance *= size;
  }
}

} // namespace headrace::reference
