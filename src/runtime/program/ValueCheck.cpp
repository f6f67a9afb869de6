#include "runtime/program/ValueCheck.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

namespace headrace {

namespace {

struct KindText {
  ValueCheck::Kind kind;
  const char *symbol; // of the step
  const char *noun;
};
constexpr std::array<KindText, 3> kinds = {{{ValueCheck::Kind::Index, "check.index", "index"},
                                            {ValueCheck::Kind::Divisor, "check.divisor", "divisor"},
                                            {ValueCheck::Kind::Target, "check.target", "target"}}};

constexpr int64_t none = std::numeric_limits<int64_t>::max();

/// Whether all of them are allowed, exceptions aside. Branch-free and by subtraction alone, so that
/// vectors do it on every CPU: the sign of `signs` says it. May err on the side of false.
template <class T> bool plainlyAllowed(const ValueCheck &check, const T *data, int64_t count) {
  int64_t signs = 0;
  if (check.kind == ValueCheck::Kind::Divisor) {
    // A number or its negative is below 0, unless it is 0.
    for (int64_t i = 0; i < count; ++i) {
      auto bits = static_cast<uint64_t>(static_cast<int64_t>(data[i]));
      signs |= static_cast<int64_t>(~(bits | (uint64_t{0} - bits)));
    }
    return signs >= 0;
  }
  auto low = static_cast<uint64_t>(check.low), last = static_cast<uint64_t>(check.high) - 1;
  for (int64_t i = 0; i < count; ++i) {
    auto value = static_cast<uint64_t>(static_cast<int64_t>(data[i]));
    signs |= static_cast<int64_t>((value - low) | (last - value));
  }
  return signs >= 0;
}

template <class T>
int64_t firstIn(const ValueCheck &check, const T *data, int64_t begin, int64_t end) {
  constexpr int64_t block = 4096; // stays in the first-level cache, should it be read again
  for (; begin < end; begin += block) {
    int64_t blockEnd = std::min(end, begin + block);
    if (plainlyAllowed(check, data + begin, blockEnd - begin))
      continue;
    for (int64_t i = begin; i < blockEnd; ++i)
      if (!check.allows(static_cast<int64_t>(data[i])))
        return i;
  }
  return none;
}

template <class T>
std::optional<Violation> first(const ValueCheck &check, const void *data, int64_t count,
                               ThreadPool *pool) {
  const auto *values = static_cast<const T *>(data);
  constexpr int64_t grain = 32 * 1024; // less is done before a worker has woken up
  int64_t found = none;
  if (!pool || count <= grain) {
    found = firstIn(check, values, 0, count);
  } else {
    std::atomic<int64_t> least = none;
    pool->parallelFor(count, grain, [&](int64_t begin, int64_t end, int) {
      if (begin >= least.load(std::memory_order_relaxed))
        return;
      int64_t here = firstIn(check, values, begin, end);
      for (int64_t known = least; here < known && !least.compare_exchange_weak(known, here);)
        ;
    });
    found = least;
  }
  if (found == none)
    return std::nullopt;
  return Violation{found, static_cast<int64_t>(values[found])};
}

constexpr size_t fixedParameters = 5; // sizes follow

bool isInteger(int64_t type) { return type >= 0 && type <= static_cast<int64_t>(DType::U64); }

/// How many elements a check's parameters speak of; none if they are not sound.
std::optional<int64_t> elementsOf(std::span<const int64_t> parameters) {
  if (parameters.size() < fixedParameters || !isInteger(parameters[0]))
    return std::nullopt;
  int64_t count = 1;
  for (int64_t size : parameters.subspan(fixedParameters))
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return std::nullopt;
  return count;
}

std::string positionText(int64_t position, std::span<const int64_t> shape) {
  std::string text;
  for (size_t i = shape.size(); i-- > 0;) {
    int64_t size = std::max<int64_t>(shape[i], 1);
    text = std::to_string(position % size) + (text.empty() ? "" : ", ") + text;
    position /= size;
  }
  return "[" + text + "]";
}

} // namespace

std::optional<Violation> firstViolation(const ValueCheck &check, DType type, const void *data,
                                        int64_t count, ThreadPool *pool) {
  switch (type) {
  case DType::I8:
    return first<int8_t>(check, data, count, pool);
  case DType::Bool:
  case DType::U8:
    return first<uint8_t>(check, data, count, pool);
  case DType::I16:
    return first<int16_t>(check, data, count, pool);
  case DType::U16:
    return first<uint16_t>(check, data, count, pool);
  case DType::I32:
    return first<int32_t>(check, data, count, pool);
  case DType::U32:
    return first<uint32_t>(check, data, count, pool);
  case DType::I64:
  case DType::U64: // of divisors only, which are 0 or not
    return first<int64_t>(check, data, count, pool);
  default:
    throw InternalError("a check of numbers of type " + std::string(nameOf(type)));
  }
}

void throwViolation(const ValueCheck &check, const Violation &violation,
                    std::span<const int64_t> shape) {
  std::string place = shape.empty() ? "" : " at " + positionText(violation.position, shape);
  if (check.kind == ValueCheck::Kind::Divisor)
    throw Error(ErrorKind::DivisionByZero,
                std::string(check.subject) + ": integers divided by 0" + place);
  std::string message = std::string(check.subject) + ": " +
                        kinds[static_cast<size_t>(check.kind)].noun + " " +
                        std::to_string(violation.value) + place + " is outside [" +
                        std::to_string(check.low) + ", " + std::to_string(check.high) + ")";
  if (check.excepted && check.kind == ValueCheck::Kind::Target)
    message += " and is not " + std::to_string(*check.excepted);
  throw Error(ErrorKind::OutOfRange, message);
}

bool isCheck(const Step &step) {
  return step.kind == Step::Kind::Library && step.symbol.starts_with("check.");
}

const char *checkSymbol(ValueCheck::Kind kind) { return kinds[static_cast<size_t>(kind)].symbol; }

std::vector<DimExpr> checkParameters(DType type, DimExpr low, DimExpr high,
                                     std::optional<int64_t> excepted,
                                     const std::vector<DimExpr> &dims) {
  std::vector<DimExpr> parameters = {DimExpr::constant(static_cast<int64_t>(type)), std::move(low),
                                     std::move(high), DimExpr::constant(excepted ? 1 : 0),
                                     DimExpr::constant(excepted.value_or(0))};
  parameters.insert(parameters.end(), dims.begin(), dims.end());
  return parameters;
}

CheckStep readCheckStep(const Step &step, std::span<const int64_t> parameters) {
  const auto *kind = std::find_if(kinds.begin(), kinds.end(), [&](const KindText &known) {
    return step.symbol == known.symbol;
  });
  if (kind == kinds.end() || step.operands.size() != 1 || !elementsOf(parameters))
    throw InternalError("step '" + step.name +
                        "': a check takes a tensor of integers, its type, "
                        "bounds, exception and sizes");
  CheckStep result;
  result.check = {kind->kind, step.name, parameters[1], parameters[2], std::nullopt};
  result.type = static_cast<DType>(parameters[0]);
  if (parameters[3] != 0)
    result.check.excepted = parameters[4];
  result.shape = parameters.subspan(fixedParameters);
  result.count = *elementsOf(parameters);
  return result;
}

std::string checkStepFault(std::span<const int64_t> parameters,
                           std::span<const int64_t> operandBytes) {
  std::optional<int64_t> count = elementsOf(parameters);
  if (!count)
    return "checks no tensor of integers";
  auto bytes = static_cast<int64_t>(sizeOf(static_cast<DType>(parameters[0])));
  if (*count > operandBytes[0] / bytes)
    return "checks " + std::to_string(*count) + " elements of " + std::to_string(operandBytes[0]) +
           " bytes";
  return "";
}

void runCheckStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                  ThreadPool &pool) {
  CheckStep read = readCheckStep(step, parameters);
  if (auto violation = firstViolation(read.check, read.type, buffers[0], read.count, &pool))
    throwViolation(read.check, *violation, read.shape);
}

} // namespace headrace
