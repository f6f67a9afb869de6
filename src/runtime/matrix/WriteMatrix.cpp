#include "runtime/matrix/BinaryBlocks.h"
#include "runtime/matrix/MatrixFile.h"
#include "runtime/matrix/Number.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace {

namespace fs = std::filesystem;

namespace {

using FormatRow = FunctionRef<void(int64_t row, std::string &text)>;

/// Formats rows in parallel, a few megabytes at a time, and writes them in order.
void writeRows(AtomicFile &file, int64_t rows, int64_t cellsPerRow, ThreadPool &pool,
               FormatRow format) {
  constexpr int64_t cellsPerBlock = 16384, blocksAtOnce = 64;
  int64_t rowsPerBlock = std::max<int64_t>(1, cellsPerBlock / std::max<int64_t>(1, cellsPerRow));
  int64_t blocks = (rows + rowsPerBlock - 1) / rowsPerBlock;
  std::vector<std::string> texts(std::min(blocks, blocksAtOnce));
  for (int64_t first = 0; first < blocks; first += blocksAtOnce) {
    int64_t count = std::min(blocksAtOnce, blocks - first);
    pool.parallelFor(count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t block = begin; block < end; ++block) {
        texts[block].clear();
        int64_t row = (first + block) * rowsPerBlock;
        for (int64_t last = std::min(row + rowsPerBlock, rows); row < last; ++row)
          format(row, texts[block]);
      }
    });
    for (int64_t block = 0; block < count; ++block)
      file.write(texts[block]);
  }
}

void writeCsvRows(AtomicFile &file, const Tensor &dense, char separator, ThreadPool &pool) {
  int64_t cols = dense.shape()[1];
  writeRows(file, dense.shape()[0], cols, pool, [&](int64_t row, std::string &text) {
    const double *cells = dense.as<double>() + row * cols;
    for (int64_t col = 0; col < cols; ++col) {
      appendNumber(text, cells[col]);
      text += col + 1 < cols ? separator : '\n';
    }
  });
}

void writeCsvRows(AtomicFile &file, const CsrMatrix &matrix, char separator, ThreadPool &pool) {
  writeRows(file, matrix.rows(), matrix.cols(), pool, [&](int64_t row, std::string &text) {
    std::span<const CsrMatrix::Column> columns = matrix.columnsOf(row);
    size_t entry = 0;
    for (int64_t col = 0; col < matrix.cols(); ++col) {
      if (entry < columns.size() && columns[entry] == col)
        appendNumber(text, matrix.valuesOf(row)[entry++]);
      else
        text += '0';
      text += col + 1 < matrix.cols() ? separator : '\n';
    }
  });
}

std::string headerLine(int64_t cols, char separator) {
  std::string text;
  for (int64_t col = 1; col <= cols; ++col)
    text += "C" + std::to_string(col) + (col < cols ? separator : '\n');
  return text;
}

void appendCell(std::string &text, int64_t row, int64_t col, double value) {
  text += std::to_string(row + 1);
  text += ' ';
  text += std::to_string(col + 1);
  text += ' ';
  appendNumber(text, value);
  text += '\n';
}

/// Lines `row column value`, 1-based, of the cells that are not 0.
void writeCells(AtomicFile &file, const Matrix &matrix, ThreadPool &pool) {
  int64_t rows = rowsOf(matrix), cols = colsOf(matrix);
  if (const auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return writeRows(file, rows, sparse->nonzeros() / std::max<int64_t>(rows, 1), pool,
                     [&](int64_t row, std::string &text) {
                       for (size_t e = 0; e < sparse->columnsOf(row).size(); ++e)
                         if (sparse->valuesOf(row)[e] != 0)
                           appendCell(text, row, sparse->columnsOf(row)[e],
                                      sparse->valuesOf(row)[e]);
                     });
  const auto *cells = std::get<Tensor>(matrix).as<double>();
  writeRows(file, rows, cols, pool, [&](int64_t row, std::string &text) {
    for (int64_t col = 0; col < cols; ++col)
      if (cells[row * cols + col] != 0)
        appendCell(text, row, col, cells[row * cols + col]);
  });
}

/// Lines `label column:value ...`: the last column first.
void writeLabelled(AtomicFile &file, const Matrix &matrix, ThreadPool &pool) {
  Tensor dense = denseOf(matrix);
  int64_t cols = dense.shape()[1];
  writeRows(file, dense.shape()[0], cols, pool, [&](int64_t row, std::string &text) {
    const double *cells = dense.as<double>() + row * cols;
    appendNumber(text, cols > 0 ? cells[cols - 1] : 0);
    for (int64_t col = 0; col + 1 < cols; ++col)
      if (cells[col] != 0) {
        text += " " + std::to_string(col + 1) + ":";
        appendNumber(text, cells[col]);
      }
    text += '\n';
  });
}

} // namespace

void writeMatrix(const fs::path &path, const Matrix &given, const FileDescription &how,
                 ThreadPool &pool) {
  Matrix matrix = given;
  if (auto *sparse = std::get_if<CsrMatrix>(&matrix))
    *sparse = sparse->withoutZeros(pool);
  FileDescription written;
  written.content = FileContent::Matrix;
  written.value = FileValue::Double;
  written.format = how.format ? how.format : formatByName(path);
  if (!written.format)
    written.format = FileFormat::Text;
  written.rows = rowsOf(matrix);
  written.cols = colsOf(matrix);
  written.nonzeros = nonzerosOf(matrix, pool);
  AtomicFile file(path), metadata(metadataPath(path));
  switch (*written.format) {
  case FileFormat::Csv:
    written.header = how.header.value_or(false);
    written.separator = how.separator.value_or(',');
    checkSeparator(*written.separator, path.string());
    if (*written.header)
      file.write(headerLine(*written.cols, *written.separator));
    if (*written.cols > 0)
      std::visit([&](const auto &any) { writeCsvRows(file, any, *written.separator, pool); },
                 matrix);
    break;
  case FileFormat::MatrixMarket:
    file.write("%%MatrixMarket matrix coordinate real general\n" + std::to_string(*written.rows) +
               " " + std::to_string(*written.cols) + " " + std::to_string(*written.nonzeros) +
               "\n");
    writeCells(file, matrix, pool);
    break;
  case FileFormat::Text:
    writeCells(file, matrix, pool);
    break;
  case FileFormat::LibSvm:
    writeLabelled(file, matrix, pool);
    break;
  case FileFormat::Binary:
    written.blockRows = written.blockCols = binaryBlockSize;
    writeBinaryBlocks(file, matrix, pool);
    break;
  case FileFormat::Npy:
    throw Error(ErrorKind::Unsupported,
                path.string() + ": npy files are read but not written; expected csv, text, mm or "
                                "libsvm");
  }
  metadata.write(metadataText(written));
  file.putInPlace();
  metadata.putInPlace();
}

} // namespace headrace
