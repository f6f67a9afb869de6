#include "runtime/operators/HostCall.h"

#include "runtime/system/Interruption.h"
#include "runtime/system/Text.h"

namespace headrace::operators {

void HostCall::fail(ErrorKind kind, const std::string &what) const {
  throw Error(kind, node.describe() + ": " + what);
}

std::string HostCall::nameOfInput(size_t i) const {
  return "input " + std::to_string(i) + " (" + inQuotes(node.inputs[i]) + ")";
}

const RuntimeValue &HostCall::input(size_t i) const {
  if (!has(i))
    fail(ErrorKind::MissingInput, "input " + std::to_string(i) + " is missing");
  return *inputs[i];
}

const Tensor &HostCall::tensor(size_t i) const {
  const Tensor *found = input(i).tensor();
  if (!found)
    fail(ErrorKind::TypeMismatch,
         nameOfInput(i) + ": expected a numeric tensor, got " + describe(input(i)));
  return *found;
}

const StringTensor &HostCall::strings(size_t i) const {
  const StringTensor *found = input(i).strings();
  if (!found)
    fail(ErrorKind::TypeMismatch,
         nameOfInput(i) + ": expected a tensor of strings, got " + describe(input(i)));
  return *found;
}

const std::vector<RuntimeValue> &HostCall::sequence(size_t i) const {
  const std::vector<RuntimeValue> *found = input(i).sequence();
  if (!found)
    fail(ErrorKind::TypeMismatch,
         nameOfInput(i) + ": expected a sequence, got " + describe(input(i)));
  return *found;
}

std::vector<int64_t> HostCall::integers(size_t i) const {
  DType dtype = tensor(i).dtype();
  if (dtype > DType::U64 && dtype != DType::I4 && dtype != DType::U4)
    fail(ErrorKind::TypeMismatch,
         nameOfInput(i) + ": expected integers or booleans, got " + describe(input(i)));
  Tensor wide = tensor(i).converted(DType::I64);
  const auto *data = std::as_const(wide).as<int64_t>();
  return {data, data + wide.elements()};
}

int64_t HostCall::integer(size_t i) const {
  std::vector<int64_t> all = integers(i);
  if (all.size() != 1)
    fail(ErrorKind::ShapeMismatch,
         nameOfInput(i) + ": expected one element, got " + describe(input(i)));
  return all.front();
}

std::vector<double> HostCall::numbers(size_t i) const {
  Tensor wide = tensor(i).converted(DType::F64);
  const auto *data = std::as_const(wide).as<double>();
  return {data, data + wide.elements()};
}

int64_t HostCall::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    fail(ErrorKind::InvalidModel,
         "axis " + std::to_string(axis) + " is outside a tensor of rank " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

const std::vector<BodyOutput> &HostCall::bodyOutputs(const std::string &attribute) const {
  auto found = node.bodies.find(attribute);
  if (found == node.bodies.end())
    fail(ErrorKind::InvalidModel,
         "attribute " + inQuotes(attribute) + ": expected a graph, got none");
  return found->second;
}

void HostCall::countIteration() const {
  pollInterruption();
  if (iterationsLeft-- <= 0)
    fail(ErrorKind::OutOfRange, "expected loops to end, got them still running at the limit of "
                                "iterations (HEADRACE_MAX_ITERATIONS sets it)");
}

} // namespace headrace::operators
