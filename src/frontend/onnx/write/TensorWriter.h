// Tensor to TensorProto.
#pragma once

#include "runtime/system/AtomicWrite.h"
#include "runtime/tensor/Tensor.h"
#include "runtime/value/RuntimeValue.h"

#include <protozero/pbf_writer.hpp>
#include <string>

namespace headrace::onnx {

/// A file next to the model that takes the data of large tensors, one after the other.
class DataFile {
public:
  explicit DataFile(const std::filesystem::path &path)
      : name(path.filename().string()), file(path) {}

  /// Where the bytes begin.
  uint64_t append(std::string_view bytes);
  const std::string &location() const { return name; }
  void putInPlace() { file.putInPlace(); }

private:
  std::string name;
  AtomicFile file;
  uint64_t end = 0;
};

/// The code of a type in TensorProto.DataType.
int32_t codeOf(DType type);

/// The fields of a TensorProto; `data` is null if its data stays in the message.
void writeTensor(protozero::pbf_writer message, const std::string &name, const Tensor &tensor,
                 DataFile *data);
void writeStrings(protozero::pbf_writer message, const std::string &name,
                  const StringTensor &strings);

} // namespace headrace::onnx
