#include "runtime/matrix/MatrixFile.h"

#include "runtime/matrix/BinaryBlocks.h"
#include "runtime/matrix/Number.h"
#include "runtime/matrix/Readers.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"
#include "runtime/tensor/Npy.h"

namespace headrace {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void unexpected(const FileText &file, const char *expected) {
  std::string_view text = trimmed(file.text());
  file.fail(std::string("expected ") + expected + ", got " +
            (text.empty() ? "nothing" : inQuotes(text)));
}

Matrix matrixOfNpy(const fs::path &path, ThreadPool &pool) {
  Tensor tensor = readNpy(path).converted(DType::F64);
  size_t rank = tensor.shape().size();
  if (rank != 1 && rank != 2)
    throw Error(ErrorKind::InvalidFile,
                path.string() + ": expected a matrix, got " + shapeString(tensor.shape()));
  return inPreferredFormat(rank == 1 ? tensor.reshaped({tensor.elements(), 1}) : tensor, pool);
}

} // namespace

Matrix readMatrix(const fs::path &path, const FileDescription &said, ThreadPool &pool) {
  FileDescription description = describeFile(path, said);
  if (description.content == FileContent::Scalar)
    throw Error(ErrorKind::TypeMismatch, path.string() + ": expected a matrix, but " +
                                             metadataPath(path).filename().string() +
                                             " says that it is a scalar");
  if (description.content == FileContent::Frame)
    throw Error(ErrorKind::TypeMismatch,
                path.string() + ": expected a matrix, but it is described as a frame");
  if (description.value == FileValue::String)
    throw Error(ErrorKind::Unsupported, path.string() + ": expected a numeric matrix, but " +
                                            metadataPath(path).filename().string() +
                                            " says that its values are strings");
  if (*description.format == FileFormat::Npy)
    return matrixOfNpy(path, pool);
  if (*description.format == FileFormat::Binary)
    return readBinaryBlocks(path, description, pool);
  FileText file(path);
  switch (*description.format) {
  case FileFormat::Csv:
    return readCsv(file, description, pool);
  case FileFormat::Text:
    return readTextCells(file, description, pool);
  case FileFormat::MatrixMarket:
    return readMatrixMarket(file, description, pool);
  case FileFormat::LibSvm:
    return readLibSvm(file, description, pool);
  case FileFormat::Npy:
  case FileFormat::Binary:
    break;
  }
  throw InternalError("an unknown format of files");
}

Scalar readScalar(const fs::path &path, const FileDescription &said) {
  FileDescription scalar = said;
  scalar.content = FileContent::Scalar;
  FileDescription description = describeFile(path, scalar);
  FileText file(path);
  std::string_view text = trimmed(file.text());
  switch (description.value.value_or(FileValue::Double)) {
  case FileValue::String:
    return std::string(file.text());
  case FileValue::Boolean:
    if (text == "TRUE" || text == "true")
      return true;
    if (text == "FALSE" || text == "false")
      return false;
    unexpected(file, "TRUE or FALSE");
  case FileValue::Integer:
    if (std::optional<int64_t> value = wholeNumberOf(text))
      return *value;
    unexpected(file, "an integer");
  case FileValue::Double:
    if (std::optional<double> value = numberOf(text))
      return *value;
    unexpected(file, "a number");
  }
  throw InternalError("an unknown type of values");
}

void writeScalar(const fs::path &path, const Scalar &scalar) {
  std::string text;
  FileDescription description;
  description.content = FileContent::Scalar;
  if (const auto *number = std::get_if<double>(&scalar)) {
    appendNumber(text, *number);
    description.value = FileValue::Double;
  } else if (const auto *whole = std::get_if<int64_t>(&scalar)) {
    text = std::to_string(*whole);
    description.value = FileValue::Integer;
  } else if (const auto *truth = std::get_if<bool>(&scalar)) {
    text = *truth ? "TRUE" : "FALSE";
    description.value = FileValue::Boolean;
  } else {
    text = std::get<std::string>(scalar);
    description.value = FileValue::String;
  }
  AtomicFile file(path), metadata(metadataPath(path));
  file.write(text);
  metadata.write(metadataText(description));
  file.putInPlace();
  metadata.putInPlace();
}

} // namespace headrace
