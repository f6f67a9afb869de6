#include "driver/split/GradientTape.h"

#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::split {

bool isFloat(DType type) {
  return type == DType::F16 || type == DType::BF16 || type == DType::F32 || type == DType::F64;
}

namespace {

class TapeWriter {
public:
  std::vector<int64_t> integers;
  std::vector<RuntimeValue> saved;

  void write(const std::vector<FollowedTensor> &tensors) {
    integers.push_back(static_cast<int64_t>(tensors.size()));
    for (const FollowedTensor &tensor : tensors) {
      integers.push_back(tensor.value);
      integers.push_back(static_cast<int64_t>(tensor.type));
      integers.push_back(static_cast<int64_t>(tensor.shape.size()));
      integers.insert(integers.end(), tensor.shape.begin(), tensor.shape.end());
    }
  }
  void write(const UsedProgram &program) {
    integers.push_back(program.number);
    write(program.inputs);
    write(program.outputs);
    integers.push_back(static_cast<int64_t>(program.saved.size()));
    saved.insert(saved.end(), program.saved.begin(), program.saved.end());
  }
};

/// Trusts nothing that it reads: a tape comes back from the user.
class TapeReader {
public:
  TapeReader(const std::vector<RuntimeValue> &elements, const std::string &model)
      : elements(elements), model(model) {
    const Tensor *first = elements.empty() ? nullptr : elements.front().tensor();
    if (!first || first->dtype() != DType::I64 || first->shape().size() != 1)
      refuse();
    integers = {first->as<int64_t>(), static_cast<size_t>(first->elements())};
  }

  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::InvalidArgument,
                model + ": input 'tape': expected what a call of the forward program returned");
  }

  int64_t next() {
    if (at == integers.size())
      refuse();
    return integers[at++];
  }
  size_t nextCount(size_t most) {
    int64_t count = next();
    if (count < 0 || static_cast<size_t>(count) > most)
      refuse();
    return static_cast<size_t>(count);
  }
  std::vector<FollowedTensor> tensors() {
    std::vector<FollowedTensor> result(nextCount(left()));
    for (FollowedTensor &tensor : result) {
      tensor.value = next();
      int64_t type = next();
      tensor.type = static_cast<DType>(type);
      bool isType = type >= 0 && type <= static_cast<int64_t>(DType::F8E8M0);
      if (!isType || (tensor.value >= 0 && !isFloat(tensor.type)))
        refuse();
      tensor.shape.resize(nextCount(left()));
      for (int64_t &size : tensor.shape)
        size = static_cast<int64_t>(nextCount(INT64_MAX));
    }
    return result;
  }
  UsedProgram program() {
    UsedProgram result;
    result.number = next();
    result.inputs = tensors();
    result.outputs = tensors();
    for (size_t count = nextCount(elements.size() - taken); count > 0; --count) {
      const Tensor *tensor = elements[taken++].tensor();
      if (!tensor)
        refuse();
      result.saved.push_back(*tensor);
    }
    return result;
  }
  size_t left() const { return integers.size() - at; }

private:
  const std::vector<RuntimeValue> &elements;
  const std::string &model;
  std::span<const int64_t> integers;
  size_t at = 0, taken = 1;
};

} // namespace

RuntimeValue encoded(const GradientTape &tape, int64_t origin) {
  TapeWriter writer;
  writer.integers.push_back(origin);
  writer.write(tape.inputs);
  writer.write(tape.outputs);
  writer.integers.push_back(static_cast<int64_t>(tape.used.size()));
  for (const UsedProgram &program : tape.used)
    writer.write(program);
  Tensor integers = Tensor::allocate(DType::I64, {static_cast<int64_t>(writer.integers.size())});
  std::ranges::copy(writer.integers, integers.as<int64_t>());
  writer.saved.insert(writer.saved.begin(), integers);
  return writer.saved;
}

GradientTape decoded(const RuntimeValue &value, int64_t origin, const std::string &model) {
  static const std::vector<RuntimeValue> none;
  TapeReader reader(value.sequence() ? *value.sequence() : none, model);
  if (reader.next() != origin)
    reader.refuse();
  GradientTape tape;
  tape.inputs = reader.tensors();
  tape.outputs = reader.tensors();
  for (size_t count = reader.nextCount(reader.left()); count > 0; --count)
    tape.used.push_back(reader.program());
  return tape;
}

} // namespace headrace::split
