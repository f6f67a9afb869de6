// A call of a host operator: its inputs, checked, and the means to run the graphs inside of the
// node. A fault is an Error that names the node.
#pragma once

#include "runtime/operators/HostNode.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/value/RuntimeValue.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace headrace::operators {

/// What an operator makes of its node's attributes, made at the first call that asks for it. Safe
/// from any thread.
class Prepared {
public:
  template <class T, class Make> std::shared_ptr<const T> get(Make make) {
    if (auto found = held())
      return std::static_pointer_cast<const T>(found);
    auto made = std::make_shared<const T>(make());
    std::lock_guard lock(mutex);
    if (!value)
      value = made;
    return std::static_pointer_cast<const T>(value);
  }

private:
  std::shared_ptr<const void> held() {
    std::lock_guard lock(mutex);
    return value;
  }

  ForkSafeMutex mutex;
  std::shared_ptr<const void> value;
};

struct HostCall {
  const HostNode &node;
  std::vector<const RuntimeValue *> inputs; // null for an omitted one
  Prepared &prepared;                       // of the node
  /// How many more times bodies of loops may run.
  int64_t &iterationsLeft;
  /// Runs the graph of an attribute.
  std::function<std::vector<RuntimeValue>(const std::string &attribute,
                                          std::span<const RuntimeValue>)>
      runBody;

  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  const RuntimeValue &input(size_t i) const;
  const Tensor &tensor(size_t i) const;
  const StringTensor &strings(size_t i) const;
  const std::vector<RuntimeValue> &sequence(size_t i) const;
  /// The one element of a tensor of integers or booleans.
  int64_t integer(size_t i) const;
  bool boolean(size_t i) const { return integer(i) != 0; }
  std::vector<int64_t> integers(size_t i) const;
  /// Numbers in the type of T.
  std::vector<double> numbers(size_t i) const;

  /// Counted from the end if it is negative.
  int64_t axis(int64_t axis, int64_t rank) const;
  /// The outputs that the graph of an attribute declares.
  const std::vector<BodyOutput> &bodyOutputs(const std::string &attribute) const;
  /// To be called for each run of a loop's body.
  void countIteration() const;

  [[noreturn]] void fail(ErrorKind kind, const std::string &what) const;
  /// "input 1 ('weights')"
  std::string nameOfInput(size_t i) const;
};

} // namespace headrace::operators
