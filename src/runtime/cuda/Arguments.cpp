#include "runtime/cuda/Arguments.h"

#include "runtime/system/Error.h"

#include <climits>

namespace headrace::cuda {

namespace {

constexpr std::array<int64_t, 3> gridLimits = {INT_MAX, 65535, 65535};

/// CUtensorMapDataType
int mapType(DType type) {
  switch (type) {
  case DType::Bool:
  case DType::I8:
  case DType::U8:
    return 0;
  case DType::I16:
  case DType::U16:
    return 1;
  case DType::U32:
    return 2;
  case DType::I32:
    return 3;
  case DType::U64:
    return 4;
  case DType::I64:
    return 5;
  case DType::F16:
    return 6;
  case DType::F32:
    return 7;
  case DType::F64:
    return 8;
  case DType::BF16:
    return 9;
  default: // types for storage are bytes
    return 0;
  }
}

/// CUtensorMapSwizzle
int mapSwizzle(int64_t bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }

TensorMap encode(const LaunchParameter::Tile &tile, std::span<const uint64_t> dims,
                 Address address) {
  auto rank = static_cast<uint32_t>(dims.size());
  std::vector<uint64_t> strides; // in bytes, of all dimensions but the innermost
  uint64_t bytes = sizeOf(tile.dtype);
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    strides.push_back(bytes *= dims[i]);
  std::vector<uint32_t> box(tile.box.rbegin(), tile.box.rend()), steps(rank, 1);
  constexpr int notInterleaved = 0, promoteTo256Bytes = 3, zerosOutside = 0;
  TensorMap map{};
  check(driver().cuTensorMapEncodeTiled(
            &map, mapType(tile.dtype), rank, reinterpret_cast<void *>(address), dims.data(),
            strides.data(), box.data(), steps.data(), notInterleaved, mapSwizzle(tile.swizzleBytes),
            promoteTo256Bytes, zerosOutside),
        "describing a matrix to the copy engine");
  return map;
}

} // namespace

BoundLaunch bindLaunch(const Launch &launch, Function function, const std::string &step,
                       std::span<const int64_t> symbols) {
  BoundLaunch bound{&launch, function, {}, {}, {}};
  for (size_t i = 0; i < 3; ++i) {
    int64_t blocks = launch.grid[i].evaluate(symbols);
    if (blocks < 0 || blocks > gridLimits[i])
      throw Error(ErrorKind::Unsupported, "step '" + step + "': expected a grid of at most " +
                                              std::to_string(gridLimits[i]) + " blocks, got " +
                                              std::to_string(blocks));
    bound.grid[i] = static_cast<unsigned>(blocks);
  }
  for (const LaunchParameter &parameter : launch.parameters) {
    bound.sizes.push_back(parameter.size.evaluate(symbols));
    std::vector<uint64_t> &dims = bound.dims.emplace_back();
    const std::vector<DimExpr> &declared = parameter.tile.dims;
    for (auto dim = declared.rbegin(); dim != declared.rend(); ++dim)
      dims.push_back(static_cast<uint64_t>(dim->evaluate(symbols)));
  }
  return bound;
}

void **Arguments::fill(const BoundLaunch &bound, std::span<const Address> operands,
                       Address workspace) {
  const std::vector<LaunchParameter> &parameters = bound.launch->parameters;
  // Sized first: the pointers below must stay.
  words.assign(parameters.size(), 0);
  maps.resize(parameters.size());
  pointers.clear();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const LaunchParameter &parameter = parameters[i];
    auto operand = static_cast<size_t>(parameter.index);
    pointers.push_back(&words[i]);
    switch (parameter.kind) {
    case LaunchParameter::Kind::Buffer:
      words[i] = operands[operand];
      break;
    case LaunchParameter::Kind::Size:
      words[i] = static_cast<uint64_t>(bound.sizes[i]);
      break;
    case LaunchParameter::Kind::Workspace:
      words[i] = workspace + static_cast<Address>(bound.sizes[i]);
      break;
    case LaunchParameter::Kind::TensorMap:
      maps[i] = encode(parameter.tile, bound.dims[i],
                       parameter.index < 0 ? workspace + static_cast<Address>(bound.sizes[i])
                                           : operands[operand]);
      pointers.back() = &maps[i];
      break;
    }
  }
  return pointers.data();
}

} // namespace headrace::cuda
