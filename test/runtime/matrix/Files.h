#pragma once

#include "runtime/Helpers.h"
#include "runtime/matrix/MatrixFile.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

namespace headrace::test {

inline void writeText(const std::filesystem::path &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string readText(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline bool isSparse(const Matrix &matrix) { return std::holds_alternative<CsrMatrix>(matrix); }

inline std::vector<double> cellsOf(const Matrix &matrix) {
  return valuesOf<double>(denseOf(matrix));
}

inline Tensor matrixOf(int64_t rows, int64_t cols, const std::vector<double> &cells) {
  return tensorOf(DType::F64, {rows, cols}, cells);
}

/// The matrix read from `content` under `name`, with `metadata` next to it unless that is empty.
inline Matrix readContent(const std::string &name, const std::string &content,
                          const std::string &metadata = "", const FileDescription &said = {}) {
  TemporaryFolder folder;
  writeText(folder / name, content);
  if (!metadata.empty())
    writeText(folder / (name + ".mtd"), metadata);
  return readMatrix(folder / name, said);
}

/// A file that must be rejected; the message names it, is one line and contains `message`.
struct BadFile {
  const char *name;
  const char *file;
  std::string content, metadata;
  const char *message;
  ErrorKind kind = ErrorKind::InvalidFile;
};

inline void expectRefused(const BadFile &bad) {
  std::string message =
      errorOf(bad.kind, [&] { readContent(bad.file, bad.content, bad.metadata); });
  EXPECT_CONTAINS(message, bad.file);
  EXPECT_CONTAINS(message, bad.message);
  EXPECT_FALSE(contains(message, "\n"));
}

inline std::string badFileName(const testing::TestParamInfo<BadFile> &info) {
  return info.param.name;
}

} // namespace headrace::test
