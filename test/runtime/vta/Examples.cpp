#include "runtime/vta/Examples.h"

#include <algorithm>
#include <random>

namespace headrace::vta::test {

std::vector<std::string> exampleNames() { return {"block16", "block32", "batch2"}; }

Configuration exampleConfiguration(const std::string &name) {
  return Configuration::read(HEADRACE_EXAMPLES "/vta/" + name + ".json");
}

Tensor randomTensor(DType type, Shape shape, uint64_t seed, int least, int most) {
  std::mt19937_64 random(seed);
  Tensor tensor = Tensor::allocate(type, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    int value = least + static_cast<int>(random() % static_cast<uint64_t>(most - least + 1));
    if (type == DType::I8)
      tensor.as<int8_t>()[i] = static_cast<int8_t>(value);
    else
      tensor.as<int32_t>()[i] = value;
  }
  return tensor;
}

int32_t applied(AluOp op, int32_t x, int32_t y) {
  switch (op) {
  case AluOp::Min:
    return std::min(x, y);
  case AluOp::Max:
    return std::max(x, y);
  case AluOp::Add:
    return static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
  case AluOp::Mul:
    return static_cast<int32_t>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
  case AluOp::Shr: // floor(x / 2^y), or x * 2^-y, of which 32 bits are left
    return static_cast<int32_t>(y >= 0
                                    ? int64_t{x} >> std::min(y, 63)
                                    : static_cast<int64_t>(x) * (int64_t{1} << std::min(-y, 32)));
  }
  return 0;
}

} // namespace headrace::vta::test
