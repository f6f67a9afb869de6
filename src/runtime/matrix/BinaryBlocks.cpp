#include "runtime/matrix/BinaryBlocks.h"

#include "runtime/matrix/FileText.h"
#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>

namespace headrace {

namespace fs = std::filesystem;

namespace {

// --- The format ----------------------------------------------------------------------------------

constexpr std::string_view magic = "SEQ\x06";
constexpr std::string_view keyClass = "org.apache.sysds.runtime.matrix.data.MatrixIndexes";
constexpr std::string_view valueClass = "org.apache.sysds.runtime.matrix.data.MatrixBlock";
constexpr size_t syncBytes = 16;
/// At least this many bytes lie between two marks that readers may begin at.
constexpr size_t syncInterval = 2000;
constexpr int64_t keyBytes = 16;

enum class BlockKind : uint8_t { Empty, UltraSparse, Sparse, Dense };

/// Numbers are stored with the highest byte first.
template <class Number> Number swapped(Number value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(Number)>>(value);
  if constexpr (std::endian::native == std::endian::little)
    std::ranges::reverse(bytes);
  return std::bit_cast<Number>(bytes);
}

/// Takes numbers from bytes; fails at their end.
class Bytes {
public:
  Bytes(const std::string &file, std::string_view bytes) : file(file), rest(bytes) {}

  template <class Number> Number take() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return swapped(value);
  }

  std::string_view take(size_t count) {
    if (count > rest.size())
      fail("expected " + std::to_string(count) + " more bytes, got " + std::to_string(rest.size()));
    std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  }

  /// A text with its length before it; names of classes are short.
  std::string_view takeText() {
    auto length = take<int8_t>();
    if (length < 0)
      fail("expected a short name of a class");
    return take(static_cast<size_t>(length));
  }

  bool empty() const { return rest.empty(); }
  size_t size() const { return rest.size(); }
  [[noreturn]] void fail(const std::string &reason) const {
    throw Error(ErrorKind::InvalidFile, file + ": " + reason);
  }

private:
  const std::string &file;
  std::string_view rest;
};

struct Block {
  int64_t row, col; ///< of its first cell, 0-based
  int64_t rows, cols;
  BlockKind kind;
  int64_t nonzeros; ///< at most; all cells of a dense block
  Bytes cells;
};

// --- Reading -------------------------------------------------------------------------------------

class SequenceFile {
public:
  SequenceFile(const fs::path &path, int64_t blockRows, int64_t blockCols)
      : name(path.string()), blockRows(blockRows), blockCols(blockCols),
        mapping(MappedFile::open(path)) {}

  void addBlocks(std::vector<Block> &blocks) const {
    Bytes bytes(name, {reinterpret_cast<const char *>(mapping->data()), mapping->size()});
    if (bytes.size() < magic.size() || bytes.take(magic.size()) != magic)
      bytes.fail("expected a sequence file of version 6");
    std::string_view key = bytes.takeText(), value = bytes.takeText();
    if (key != keyClass || value != valueClass)
      bytes.fail("expected blocks of a matrix, got records of " + inQuotes(value));
    if (bytes.take<int8_t>() != 0 || bytes.take<int8_t>() != 0)
      throw Error(ErrorKind::Unsupported, name + ": compressed sequence files are not read");
    auto entries = bytes.take<int32_t>();
    for (int32_t i = 0; i < 2 * std::max(entries, 0); ++i)
      bytes.takeText();
    std::string_view sync = bytes.take(syncBytes);
    while (!bytes.empty()) {
      auto length = bytes.take<int32_t>();
      if (length == -1) {
        if (bytes.take(syncBytes) != sync)
          bytes.fail("expected the mark between records");
        continue;
      }
      if (length < keyBytes || bytes.take<int32_t>() != keyBytes)
        bytes.fail("expected records with the numbers of a block");
      blocks.push_back(block(Bytes(name, bytes.take(static_cast<size_t>(length)))));
    }
  }

private:
  Block block(Bytes bytes) const {
    auto row = bytes.take<int64_t>(), col = bytes.take<int64_t>();
    auto rows = bytes.take<int32_t>(), cols = bytes.take<int32_t>();
    auto kind = static_cast<BlockKind>(bytes.take<uint8_t>());
    constexpr int64_t maxNumber = int64_t{1} << 40;
    if (row < 1 || col < 1 || row > maxNumber || col > maxNumber || rows < 0 || cols < 0 ||
        rows > blockRows || cols > blockCols || kind > BlockKind::Dense)
      bytes.fail("expected a block of at most " + shapeString({blockRows, blockCols}) + ", got " +
                 shapeString({rows, cols}) + " with the number " + shapeString({row, col}));
    int64_t nonzeros = 0;
    if (kind == BlockKind::Dense)
      nonzeros = static_cast<int64_t>(rows) * cols;
    else if (kind != BlockKind::Empty)
      nonzeros = bytes.take<int32_t>();
    size_t least = kind == BlockKind::Dense         ? 8
                   : kind == BlockKind::Sparse      ? 12
                   : kind == BlockKind::UltraSparse ? 12
                                                    : 0;
    if (nonzeros < 0 || static_cast<size_t>(nonzeros) * least > bytes.size())
      bytes.fail("expected the " + std::to_string(nonzeros) + " cells of a block, got " +
                 std::to_string(bytes.size()) + " bytes");
    return {(row - 1) * blockRows, (col - 1) * blockCols, rows, cols, kind, nonzeros, bytes};
  }

  std::string name;
  int64_t blockRows, blockCols;
  std::shared_ptr<MappedFile> mapping;
};

/// Calls visit(row, column, value) for all cells that the block has stored, by rows.
template <class Visit> void forEachCell(const Block &block, Visit visit) {
  Bytes bytes = block.cells;
  auto cell = [&](int64_t row, int64_t col) {
    if (row < 0 || col < 0 || row >= block.rows || col >= block.cols)
      bytes.fail("expected a cell of a block of " + shapeString({block.rows, block.cols}) +
                 ", got " + shapeString({row, col}));
    visit(block.row + row, block.col + col, bytes.take<double>());
  };
  switch (block.kind) {
  case BlockKind::Empty:
    break;
  case BlockKind::Dense:
    for (int64_t row = 0; row < block.rows; ++row)
      for (int64_t col = 0; col < block.cols; ++col)
        cell(row, col);
    break;
  case BlockKind::Sparse: {
    int64_t left = block.nonzeros;
    for (int64_t row = 0; row < block.rows; ++row) {
      auto count = bytes.take<int32_t>();
      if (count < 0 || count > left)
        bytes.fail("expected at most " + std::to_string(block.nonzeros) + " cells in a block");
      left -= count;
      for (int32_t i = 0; i < count; ++i)
        cell(row, bytes.take<int32_t>());
    }
    break;
  }
  case BlockKind::UltraSparse:
    // Cells of a column have no column.
    for (int64_t i = 0; i < block.nonzeros; ++i) {
      auto row = bytes.take<int32_t>();
      cell(row, block.cols > 1 ? bytes.take<int32_t>() : 0);
    }
    break;
  }
}

Tensor denseOfBlocks(int64_t rows, int64_t cols, std::span<const Block> blocks, ThreadPool &pool) {
  Tensor dense = Tensor::allocate(DType::F64, {rows, cols});
  std::fill_n(dense.as<double>(), dense.elements(), 0.0);
  forPieces(blocks.size(), pool, [&](size_t i) {
    forEachCell(blocks[i], [&](int64_t row, int64_t col, double value) {
      dense.as<double>()[row * cols + col] = value;
    });
  });
  return dense;
}

CsrMatrix sparseOfBlocks(int64_t rows, int64_t cols, std::span<const Block> blocks,
                         ThreadPool &pool) {
  std::vector<int64_t> rowIndices, columnIndices;
  std::vector<double> values;
  for (const Block &block : blocks)
    forEachCell(block, [&](int64_t row, int64_t col, double value) {
      rowIndices.push_back(row);
      columnIndices.push_back(col);
      values.push_back(value);
    });
  return CsrMatrix::fromCells(rows, cols, rowIndices, columnIndices, values, pool);
}

// --- Writing -------------------------------------------------------------------------------------

template <class Number> void put(std::string &text, Number value) {
  Number stored = swapped(value);
  text.append(reinterpret_cast<const char *>(&stored), sizeof stored);
}

void putText(std::string &text, std::string_view value) {
  put(text, static_cast<int8_t>(value.size()));
  text += value;
}

/// The stored cells [begin, end) of a row that lie in the columns of a block.
std::pair<int64_t, int64_t> entriesWithin(const CsrMatrix &matrix, int64_t row, int64_t firstCol,
                                          int64_t cols) {
  auto columns = matrix.columnsOf(row);
  auto begin = std::ranges::lower_bound(columns, firstCol);
  auto end = std::ranges::lower_bound(columns, firstCol + cols);
  int64_t offset = matrix.offsets()[row];
  return {offset + (begin - columns.begin()), offset + (end - columns.begin())};
}

void putCells(std::string &text, const CsrMatrix &matrix, int64_t row, int64_t col, int64_t rows,
              int64_t cols) {
  int64_t nonzeros = 0;
  for (int64_t i = row; i < row + rows; ++i) {
    auto [begin, end] = entriesWithin(matrix, i, col, cols);
    nonzeros += end - begin;
  }
  put(text, static_cast<uint8_t>(nonzeros ? BlockKind::Sparse : BlockKind::Empty));
  if (nonzeros == 0)
    return;
  put(text, static_cast<int32_t>(nonzeros));
  for (int64_t i = row; i < row + rows; ++i) {
    auto [begin, end] = entriesWithin(matrix, i, col, cols);
    put(text, static_cast<int32_t>(end - begin));
    for (int64_t e = begin; e < end; ++e) {
      put(text, static_cast<int32_t>(matrix.columns()[e] - col));
      put(text, matrix.values()[e]);
    }
  }
}

void putCells(std::string &text, const Tensor &matrix, int64_t row, int64_t col, int64_t rows,
              int64_t cols) {
  put(text, static_cast<uint8_t>(BlockKind::Dense));
  int64_t stride = matrix.shape()[1];
  for (int64_t i = row; i < row + rows; ++i)
    for (int64_t j = col; j < col + cols; ++j)
      put(text, matrix.as<double>()[i * stride + j]);
}

std::string recordOf(const Matrix &matrix, int64_t blockRow, int64_t blockCol) {
  int64_t row = blockRow * binaryBlockSize, col = blockCol * binaryBlockSize;
  int64_t rows = std::min(binaryBlockSize, rowsOf(matrix) - row);
  int64_t cols = std::min(binaryBlockSize, colsOf(matrix) - col);
  std::string block;
  put(block, blockRow + 1);
  put(block, blockCol + 1);
  put(block, static_cast<int32_t>(rows));
  put(block, static_cast<int32_t>(cols));
  std::visit([&](const auto &any) { putCells(block, any, row, col, rows, cols); }, matrix);
  std::string record;
  put(record, static_cast<int32_t>(block.size()));
  put(record, static_cast<int32_t>(keyBytes));
  return record + block;
}

int64_t blocksOf(int64_t cells) { return (cells + binaryBlockSize - 1) / binaryBlockSize; }

} // namespace

Matrix readBinaryBlocks(const fs::path &path, const FileDescription &description,
                        ThreadPool &pool) {
  int64_t blockRows = description.blockRows.value_or(binaryBlockSize);
  int64_t blockCols = description.blockCols.value_or(binaryBlockSize);
  constexpr int64_t maxInBlock = int64_t{1} << 20;
  if (blockRows < 1 || blockCols < 1 || blockRows > maxInBlock || blockCols > maxInBlock)
    throw Error(ErrorKind::InvalidFile, path.string() + ": expected blocks of at most " +
                                            std::to_string(maxInBlock) + " rows and columns, got " +
                                            shapeString({blockRows, blockCols}));
  std::vector<SequenceFile> files;
  std::error_code error;
  if (fs::is_directory(path, error))
    for (const fs::path &part : partFiles(path))
      files.emplace_back(part, blockRows, blockCols);
  else
    files.emplace_back(path, blockRows, blockCols);
  std::vector<Block> blocks;
  for (const SequenceFile &file : files)
    file.addBlocks(blocks);

  auto fail = [&](const std::string &reason) {
    throw Error(ErrorKind::InvalidFile, path.string() + ": " + reason);
  };
  int64_t coveredRows = 0, coveredCols = 0, nonzeros = 0;
  std::set<std::pair<int64_t, int64_t>> places;
  for (const Block &block : blocks) {
    if (!places.emplace(block.row, block.col).second)
      fail("expected each block once");
    coveredRows = std::max(coveredRows, block.row + block.rows);
    coveredCols = std::max(coveredCols, block.col + block.cols);
    nonzeros += block.nonzeros;
  }
  int64_t rows = description.rows.value_or(coveredRows);
  int64_t cols = description.cols.value_or(coveredCols);
  if (coveredRows > rows || coveredCols > cols)
    fail("expected a matrix of " + shapeString({rows, cols}) + ", got blocks of " +
         shapeString({coveredRows, coveredCols}));
  bool sparse = preferSparse(rows, cols, nonzeros);
  double entries =
      sparse ? static_cast<double>(rows) : static_cast<double>(rows) * static_cast<double>(cols);
  checkFitsMemory(path.string(), rows, cols, entries * sizeof(double));
  if (sparse)
    return inPreferredFormat(sparseOfBlocks(rows, cols, blocks, pool), pool);
  return inPreferredFormat(denseOfBlocks(rows, cols, blocks, pool), pool);
}

void writeBinaryBlocks(AtomicFile &file, const Matrix &matrix, ThreadPool &pool) {
  // Any bytes that records are unlikely to contain.
  constexpr std::string_view sync =
      "\x93\x5e\xa1\x0c\xd8\x27\xf4\x6b\x11\xbe\x7d\x42\x9a\xe5\x30\xc6";
  static_assert(sync.size() == syncBytes);
  std::string header(magic);
  putText(header, keyClass);
  putText(header, valueClass);
  header += std::string("\0\0\0\0\0\0", 6); // not compressed, no entries
  header += sync;
  file.write(header);
  int64_t across = blocksOf(colsOf(matrix)), count = blocksOf(rowsOf(matrix)) * across;
  constexpr int64_t atOnce = 16;
  size_t sinceSync = 0;
  for (int64_t first = 0; first < count; first += atOnce) {
    std::vector<std::string> records(std::min(atOnce, count - first));
    forPieces(records.size(), pool, [&](size_t i) {
      int64_t block = first + static_cast<int64_t>(i);
      records[i] = recordOf(matrix, block / across, block % across);
    });
    for (const std::string &record : records) {
      if (sinceSync >= syncInterval) {
        std::string mark;
        put(mark, int32_t{-1});
        file.write(mark + std::string(sync));
        sinceSync = 0;
      }
      file.write(record);
      sinceSync += record.size();
    }
  }
}

} // namespace headrace
