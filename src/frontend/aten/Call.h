// One call of an operator of ATen: its arguments, by the names of PyTorch's schema, the types of
// its results, and helpers that write it as operators of level 1.
#pragma once

#include "frontend/aten/Value.h"
#include "runtime/system/Error.h"

#include <initializer_list>
#include <optional>
#include <span>

namespace headrace::aten {

/// A call that no program is written for; the message names the feature.
class Unsupported : public Error {
public:
  explicit Unsupported(const std::string &what) : Error(ErrorKind::Unsupported, what) {}
};

using Arguments = std::vector<std::pair<std::string, Value>>;
/// Nothing for a result that is not a tensor.
using ResultTypes = std::vector<std::optional<ResultType>>;

class Call {
public:
  /// `name`: of the operator, without its overload. `differentiates`: whether a result of the
  /// program may be asked for its gradient.
  Call(GraphBuilder &builder, std::string name, Arguments arguments, ResultTypes results,
       bool differentiates);

  GraphBuilder &b;
  const std::string name;
  const bool differentiates;

  // Arguments
  /// None if it is not given.
  const Value &operator[](const std::string &name) const;
  bool has(const std::string &name) const { return !(*this)[name].isNone(); }
  Node tensor(const std::string &name) const;
  std::optional<Node> optionalTensor(const std::string &name) const;
  /// At least one.
  std::vector<Node> tensors(const std::string &name) const;
  int64_t integer(const std::string &name, std::optional<int64_t> otherwise = {}) const;
  double number(const std::string &name, std::optional<double> otherwise = {}) const;
  bool flag(const std::string &name, bool otherwise) const;
  std::string text(const std::string &name, const std::string &otherwise) const;
  /// One integer counts as a list.
  Integers integers(const std::string &name, const Integers &otherwise = {}) const;
  Size size(const std::string &name) const;
  Sizes sizes(const std::string &name) const;
  /// The dimension that the argument names, in a tensor of this rank.
  int64_t axis(const std::string &name, int64_t rank, std::optional<int64_t> otherwise = {}) const;
  /// An integer as a dimension of a tensor of this rank.
  int64_t checkedAxis(int64_t axis, int64_t rank) const;
  /// Sorted; all of them if none are named.
  Integers axes(const std::string &name, int64_t rank) const;

  // Results
  size_t resultCount() const { return results.size(); }
  const ResultType &result(size_t number = 0) const;
  /// Whether anything reads the result.
  bool resultIsUsed(size_t number) const {
    return number < results.size() && results[number] && results[number]->isUsed;
  }
  DType type() const { return result().type; }
  const Sizes &shape() const { return result().sizes; }

  // Tensors
  int64_t rank(Node x) const { return static_cast<int64_t>(b.shape(x).size()); }
  DType type(Node x) const { return b.dtype(x); }
  /// A function of scalars over operands that are taken in the type of the first tensor.
  Node map(const std::string &function, std::initializer_list<Value> operands) const;
  Node mapAs(DType type, const std::string &function, std::initializer_list<Value> operands) const;
  Node typed(const Value &x, DType type) const;
  Node select(Node condition, const Value &yes, const Value &no, DType type) const;
  Node full(const Value &value, DType type, const Sizes &sizes) const;
  Node integers(std::span<const int64_t> values, Shape shape) const;
  Node flags(const std::vector<bool> &values, Shape shape) const;
  Node numbers(std::span<const double> values, Shape shape, DType type) const;
  /// 0, 1, 2, ... as 64-bit integers.
  Node iota(const Size &size) const;
  /// f16 and bf16 as f32; other types as they are.
  Node widened(Node x) const;
  std::optional<Node> widened(std::optional<Node> x) const;
  /// Dimensions of size 1, given by their place in the result.
  Node unsqueeze(Node x, const Integers &axes) const;
  /// A vector along dimension 1 of a tensor of this rank.
  Node perChannel(Node x, int64_t rank) const;
  Node flat(Node x) const { return b.reshape(x, {product(b.shape(x))}); }
  /// Elements from `start` on along one dimension.
  Node part(Node x, int64_t axis, const Size &start, const Size &size, int64_t step = 1) const;
  /// The number of elements along these dimensions, of this type.
  Node count(Node x, const Integers &axes, DType type) const;

  // Sizes
  Size add(const Size &a, const Size &b) const { return this->b.arithmetic("add", a, b); }
  Size sub(const Size &a, const Size &b) const { return this->b.arithmetic("sub", a, b); }
  Size mul(const Size &a, const Size &b) const { return this->b.arithmetic("mul", a, b); }
  Size product(std::span<const Size> sizes) const;

  void require(bool holds, const std::string &what) const {
    if (!holds)
      unsupported(name + ": expected " + what);
  }
  [[noreturn]] void unsupported(const std::string &what) const { throw Unsupported(what); }
  /// The product of these sizes: a number of elements that the program has one by one.
  int64_t listed(std::span<const int64_t> sizes) const;
  int64_t listed(std::initializer_list<int64_t> sizes) const {
    return listed(std::span(sizes.begin(), sizes.size()));
  }
  /// The sizes as integers; unsupported if one is dynamic.
  Integers fixed(std::span<const Size> sizes, const std::string &what) const;

private:
  Arguments arguments;
  ResultTypes results;
};

/// The value of a dimension that is not dynamic.
inline std::optional<int64_t> known(const Size &size) {
  const auto *number = std::get_if<int64_t>(&size);
  return number ? std::optional(*number) : std::nullopt;
}

bool isFloat(DType type);
/// A scalar, or nothing if the value is something else.
std::optional<double> numberIn(const Value &value);

} // namespace headrace::aten
