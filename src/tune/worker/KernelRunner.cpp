#include "tune/worker/KernelRunner.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

namespace headrace::tune {

namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

bool isFloat(DType type) { return type >= DType::F16 && type <= DType::F64; }

Tensor randomTensor(const TensorSpec &spec, std::mt19937_64 &random) {
  Shape shape;
  for (const DimExpr &dim : spec.dims)
    shape.push_back(dim.asConstant().value());
  Tensor wide = Tensor::allocate(DType::F32, shape);
  float *values = wide.as<float>();
  for (int64_t i = 0; i < wide.elements(); ++i) {
    auto bits = static_cast<double>(random() >> 11) * 0x1p-53;
    values[i] = isFloat(spec.dtype) ? static_cast<float>(2 * bits - 1)
                                    : static_cast<float>(bits < 0.5 ? 0 : 1);
  }
  return spec.dtype == DType::F32 ? wide : wide.converted(spec.dtype);
}

/// How much results may differ, as a part of the largest of them: sums in another order.
double toleranceOf(DType type) {
  switch (type) {
  case DType::F64:
    return 1e-11;
  case DType::F32:
    return 1e-4;
  case DType::F16:
    return 1e-2;
  case DType::BF16:
    return 4e-2;
  default:
    return 0; // integers are exact
  }
}

std::string differenceOf(const Tensor &found, const Tensor &expected) {
  if (found.dtype() != expected.dtype() || found.shape() != expected.shape())
    return "another type or shape";
  Tensor a = found.converted(DType::F64), b = expected.converted(DType::F64);
  const double *left = a.as<double>(), *right = b.as<double>();
  double largest = 0;
  for (int64_t i = 0; i < b.elements(); ++i)
    if (std::isfinite(right[i]))
      largest = std::max(largest, std::fabs(right[i]));
  double tolerance = toleranceOf(expected.dtype()) * largest;
  for (int64_t i = 0; i < a.elements(); ++i) {
    bool isEqual = left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i])) ||
                   std::fabs(left[i] - right[i]) <= tolerance;
    if (!isEqual)
      return "element " + std::to_string(i) + ": expected " + std::to_string(right[i]) + ", got " +
             std::to_string(left[i]);
  }
  return "";
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Reads more than the caches of a core and their neighbour hold.
class CacheFlusher {
public:
  void flush() {
    for (size_t i = 0; i < memory.size(); i += 64 / sizeof(int))
      sum += memory[i]++;
  }

private:
  std::vector<int> memory = std::vector<int>((size_t{8} << 20) / sizeof(int));
  volatile int sum = 0;
};

} // namespace

LoadedKernel::LoadedKernel(const std::filesystem::path &path) : package(Package::open(path)) {}

void LoadedKernel::takeInputs(const LoadedKernel &other) {
  inputs = other.inputs;
  executable = package->program()->find(inputs);
}

void LoadedKernel::makeInputs(uint64_t seed) {
  std::mt19937_64 random(seed);
  inputs.clear();
  for (const TensorSpec &spec : package->program()->interface().inputs)
    inputs.push_back(randomTensor(spec, random));
  executable = package->program()->find(inputs);
}

void LoadedKernel::run() {
  if (results.empty())
    results = executable->run(inputs);
  else
    executable->runInto(inputs, results);
}

double LoadedKernel::time(int calls) {
  auto start = Clock::now();
  for (int i = 0; i < calls; ++i)
    run();
  return microsecondsSince(start) / calls;
}

std::string differenceBetween(std::span<const Tensor> found, std::span<const Tensor> expected) {
  if (found.size() != expected.size())
    return "expected " + std::to_string(expected.size()) + " outputs, got " +
           std::to_string(found.size());
  for (size_t i = 0; i < found.size(); ++i)
    if (std::string difference = differenceOf(found[i], expected[i]); !difference.empty())
      return "output " + std::to_string(i) + ": " + difference;
  return "";
}

Turns timeInTurns(LoadedKernel &kernel, LoadedKernel &other, double seconds) {
  constexpr double kTurn = 200; // microseconds: far above the clock's resolution
  constexpr int kMinTurns = 3, kMaxTurns = 40;
  double once = std::min(kernel.time(1), kernel.time(1)), otherOnce = other.time(1);
  auto callsOf = [](double time) { return std::clamp(static_cast<int>(kTurn / time), 1, 1000); };
  int calls = callsOf(once), otherCalls = callsOf(otherOnce);
  // Two turns of each warm, and two calls of each cold.
  double round = once * (calls + 1) + otherOnce * (otherCalls + 1);
  bool isHopeless = once > 4 * otherOnce;
  int turns =
      isHopeless ? 1 : std::clamp(static_cast<int>(seconds * 1e6 / round), kMinTurns, kMaxTurns);
  std::vector<double> warm, warmOther, cold, coldOther;
  CacheFlusher caches;
  for (int turn = 0; turn < turns; ++turn) {
    warm.push_back(kernel.time(calls));
    warmOther.push_back(other.time(otherCalls));
  }
  for (int turn = 0; turn < turns; ++turn) {
    caches.flush();
    cold.push_back(kernel.time(1));
    caches.flush();
    coldOther.push_back(other.time(1));
  }
  return {median(warm), median(warmOther), median(cold), median(coldOther)};
}

} // namespace headrace::tune
