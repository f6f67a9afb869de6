#include "frontend/aten/Call.h"

#include <algorithm>
#include <cmath>

namespace headrace::aten {

bool isFloat(DType type) {
  return type == DType::F16 || type == DType::BF16 || type == DType::F32 || type == DType::F64;
}

std::optional<double> numberIn(const Value &value) {
  if (const auto *number = value.as<double>())
    return *number;
  if (const auto *number = value.as<int64_t>())
    return static_cast<double>(*number);
  if (const auto *flag = value.as<bool>())
    return *flag ? 1 : 0;
  return std::nullopt;
}

Call::Call(GraphBuilder &builder, std::string name, Arguments arguments, ResultTypes results,
           bool differentiates)
    : b(builder), name(std::move(name)), differentiates(differentiates),
      arguments(std::move(arguments)), results(std::move(results)) {}

//===--------------------------------------------------------------------------===//
// Arguments and results
//===--------------------------------------------------------------------------===//

const Value &Call::operator[](const std::string &wanted) const {
  static const Value none;
  for (const auto &[given, value] : arguments)
    if (given == wanted)
      return value;
  return none;
}

Node Call::tensor(const std::string &wanted) const {
  if (const auto *node = (*this)[wanted].as<Node>())
    return *node;
  unsupported(name + ": argument '" + wanted + "': expected a tensor");
}

std::optional<Node> Call::optionalTensor(const std::string &wanted) const {
  return has(wanted) ? std::optional(tensor(wanted)) : std::nullopt;
}

std::vector<Node> Call::tensors(const std::string &wanted) const {
  std::vector<Node> found;
  if (const auto *list = (*this)[wanted].as<List>())
    for (const Value &each : *list) {
      if (!each.as<Node>())
        unsupported(name + ": argument '" + wanted + "': expected a list of tensors");
      found.push_back(*each.as<Node>());
    }
  if (found.empty())
    unsupported(name + ": argument '" + wanted + "': expected a list of tensors");
  return found;
}

int64_t Call::integer(const std::string &wanted, std::optional<int64_t> otherwise) const {
  const Value &value = (*this)[wanted];
  if (value.isNone() && otherwise)
    return *otherwise;
  if (const auto *number = value.as<int64_t>())
    return *number;
  if (const auto *flag = value.as<bool>())
    return *flag;
  unsupported(name + ": argument '" + wanted + "': expected an integer that is known");
}

double Call::number(const std::string &wanted, std::optional<double> otherwise) const {
  const Value &value = (*this)[wanted];
  if (value.isNone() && otherwise)
    return *otherwise;
  if (auto number = numberIn(value))
    return *number;
  unsupported(name + ": argument '" + wanted + "': expected a scalar that is known");
}

bool Call::flag(const std::string &wanted, bool otherwise) const {
  return integer(wanted, otherwise) != 0;
}

std::string Call::text(const std::string &wanted, const std::string &otherwise) const {
  const auto *found = (*this)[wanted].as<std::string>();
  return found ? *found : otherwise;
}

Integers Call::integers(const std::string &wanted, const Integers &otherwise) const {
  const Value &value = (*this)[wanted];
  if (value.isNone())
    return otherwise;
  return fixed(sizes(wanted), "argument '" + wanted + "' of " + name);
}

/// As many 64-bit integers take 512 MB.
constexpr int64_t mostListed = 1 << 26;

int64_t Call::listed(std::span<const int64_t> sizes) const {
  int64_t total = 1;
  for (int64_t each : sizes) {
    require(each >= 0, "sizes that are not negative");
    if (__builtin_mul_overflow(total, each, &total) || total > mostListed)
      unsupported(name + " of so many elements");
  }
  return total;
}

static std::optional<Size> sizeIn(const Value &value) {
  if (const auto *number = value.as<int64_t>())
    return *number;
  if (const auto *size = value.as<OpenSize>())
    return *size;
  return std::nullopt;
}

Size Call::size(const std::string &wanted) const {
  if (auto found = sizeIn((*this)[wanted]))
    return *found;
  unsupported(name + ": argument '" + wanted + "': expected a dimension");
}

Sizes Call::sizes(const std::string &wanted) const {
  const auto *list = (*this)[wanted].as<List>();
  if (!list)
    return {size(wanted)};
  Sizes found;
  for (const Value &each : *list) {
    auto known = sizeIn(each);
    if (!known)
      unsupported(name + ": argument '" + wanted + "': expected dimensions");
    found.push_back(*known);
  }
  return found;
}

int64_t Call::axis(const std::string &wanted, int64_t rank,
                   std::optional<int64_t> otherwise) const {
  return checkedAxis(integer(wanted, otherwise), rank);
}

int64_t Call::checkedAxis(int64_t axis, int64_t rank) const {
  int64_t limit = std::max(rank, int64_t{1});
  if (axis < -limit || axis >= limit)
    unsupported(name + ": dimension " + std::to_string(axis) + " of a tensor of rank " +
                std::to_string(rank));
  return axis < 0 ? axis + limit : axis;
}

Integers Call::axes(const std::string &wanted, int64_t rank) const {
  Integers found = integers(wanted);
  if (found.empty())
    for (int64_t i = 0; i < rank; ++i)
      found.push_back(i);
  for (int64_t &each : found)
    each = checkedAxis(each, rank);
  std::ranges::sort(found);
  return found;
}

const ResultType &Call::result(size_t number) const {
  if (number >= results.size() || !results[number])
    unsupported(name + ": expected a tensor as result " + std::to_string(number));
  return *results[number];
}

//===--------------------------------------------------------------------------===//
// Tensors
//===--------------------------------------------------------------------------===//

Node Call::map(const std::string &function, std::initializer_list<Value> operands) const {
  for (const Value &each : operands)
    if (const auto *node = each.as<Node>())
      return mapAs(b.dtype(*node), function, operands);
  unsupported(name + " of scalars alone");
}

Node Call::mapAs(DType type, const std::string &function,
                 std::initializer_list<Value> operands) const {
  std::vector<Node> nodes;
  for (const Value &each : operands)
    nodes.push_back(typed(each, type));
  return b.elementwise(function, nodes);
}

Node Call::typed(const Value &x, DType type) const {
  if (const auto *node = x.as<Node>())
    return b.cast(*node, type);
  if (const auto *size = x.as<OpenSize>())
    return b.sizeAsData(*size, type);
  // Doubles do not have all 64-bit integers.
  if (const auto *integer = x.as<int64_t>(); integer && std::abs(*integer) > int64_t{1} << 53)
    return b.cast(integers(std::span(integer, 1), {}), type);
  if (auto number = numberIn(x))
    return b.scalar(*number, type);
  unsupported(name + ": expected a tensor or a scalar");
}

Node Call::select(Node condition, const Value &yes, const Value &no, DType type) const {
  return b.elementwise("select",
                       {b.cast(condition, DType::Bool), typed(yes, type), typed(no, type)});
}

Node Call::full(const Value &value, DType type, const Sizes &sizes) const {
  return b.broadcast(typed(value, type), sizes);
}

Node Call::integers(std::span<const int64_t> values, Shape shape) const {
  Tensor tensor = Tensor::allocate(DType::I64, std::move(shape));
  std::ranges::copy(values, tensor.as<int64_t>());
  return b.constant(tensor);
}

Node Call::flags(const std::vector<bool> &values, Shape shape) const {
  Tensor tensor = Tensor::allocate(DType::Bool, std::move(shape));
  std::ranges::copy(values, tensor.as<uint8_t>());
  return b.constant(tensor);
}

Node Call::numbers(std::span<const double> values, Shape shape, DType type) const {
  Tensor tensor = Tensor::allocate(DType::F64, std::move(shape));
  std::ranges::copy(values, tensor.as<double>());
  return b.constant(tensor.converted(type));
}

Node Call::iota(const Size &size) const {
  auto count = known(size);
  if (!count || *count > mostListed)
    return b.scan("sum", full(1, DType::I64, {size}), 0, true, false);
  Integers values(*count);
  for (int64_t i = 0; i < *count; ++i)
    values[i] = i;
  return integers(values, {*count});
}

Node Call::widened(Node x) const {
  DType type = b.dtype(x);
  return type == DType::F16 || type == DType::BF16 ? b.cast(x, DType::F32) : x;
}

std::optional<Node> Call::widened(std::optional<Node> x) const {
  return x ? std::optional(widened(*x)) : std::nullopt;
}

Node Call::unsqueeze(Node x, const Integers &axes) const {
  Sizes own = b.shape(x), sizes;
  size_t next = 0;
  for (size_t i = 0; i < own.size() + axes.size(); ++i)
    sizes.push_back(std::ranges::count(axes, static_cast<int64_t>(i)) ? Size(int64_t{1})
                                                                      : own[next++]);
  return b.reshape(x, sizes);
}

Node Call::perChannel(Node x, int64_t rank) const {
  Integers axes{0};
  for (int64_t i = 2; i < rank; ++i)
    axes.push_back(i);
  return unsqueeze(x, axes);
}

Node Call::part(Node x, int64_t axis, const Size &start, const Size &size, int64_t step) const {
  Sizes sizes = b.shape(x), starts(sizes.size(), int64_t{0});
  Integers steps(sizes.size(), 1);
  starts[axis] = start, sizes[axis] = size, steps[axis] = step;
  return b.slice(x, starts, sizes, steps);
}

Node Call::count(Node x, const Integers &axes, DType type) const {
  Sizes own = b.shape(x), sizes;
  for (int64_t axis : axes)
    sizes.push_back(own[axis]);
  return b.sizeAsData(product(sizes), type);
}

Size Call::product(std::span<const Size> sizes) const {
  Size total = int64_t{1};
  for (const Size &each : sizes)
    total = mul(total, each);
  return total;
}

Integers Call::fixed(std::span<const Size> sizes, const std::string &what) const {
  Integers found;
  for (const Size &each : sizes) {
    if (!known(each))
      unsupported(what + " of a dynamic dimension");
    found.push_back(*known(each));
  }
  return found;
}

} // namespace headrace::aten
