#include "runtime/matrix/Files.h"

#include <random>

namespace headrace {
namespace {

using namespace test;

FileDescription binary() {
  FileDescription description;
  description.format = FileFormat::Binary;
  return description;
}

Tensor counting(int64_t rows, int64_t cols) {
  Tensor matrix = Tensor::allocate(DType::F64, {rows, cols});
  for (int64_t i = 0; i < matrix.elements(); ++i)
    matrix.as<double>()[i] = static_cast<double>(i) * 0.5 - 3;
  return matrix;
}

TEST(BinaryBlocks, MatricesOfSeveralBlocksReadBack) {
  TemporaryFolder folder;
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{5, 3}, {1001, 1002}, {2000, 1}, {0, 4}}) {
    Matrix matrix = counting(rows, cols);
    writeMatrix(folder / "x", matrix, binary());
    Matrix back = readMatrix(folder / "x");
    EXPECT_EQ(rowsOf(back), rows);
    EXPECT_EQ(colsOf(back), cols);
    EXPECT_EQ(cellsOf(back), cellsOf(matrix));
  }
}

TEST(BinaryBlocks, SparseMatricesStaySparse) {
  TemporaryFolder folder;
  std::vector<int64_t> rows = {0, 999, 1000, 2499}, cols = {1199, 1000, 0, 7};
  std::vector<double> values = {1, -2, 3.5, 4};
  CsrMatrix matrix = CsrMatrix::fromCells(2500, 1200, rows, cols, values);
  writeMatrix(folder / "x", matrix, binary());
  Matrix back = readMatrix(folder / "x");
  auto *sparse = std::get_if<CsrMatrix>(&back);
  ASSERT_TRUE(sparse);
  EXPECT_EQ(sparse->nonzeros(), 4);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(sparse->at(rows[i], cols[i]), values[i]);
}

/// A file as SystemDS writes one: with metadata, or recognized without it.
TEST(BinaryBlocks, CellsWithoutColumnsAndSizesFromBlocks) {
  TemporaryFolder folder;
  std::string file = "SEQ\x06";
  file += '\x32' + std::string("org.apache.sysds.runtime.matrix.data.MatrixIndexes");
  file += '\x30' + std::string("org.apache.sysds.runtime.matrix.data.MatrixBlock");
  file += std::string(6, '\0') + std::string(16, 's');
  auto put = [&](int64_t value, int bytes) {
    for (int i = bytes; i-- > 0;)
      file += static_cast<char>(value >> (8 * i) & 0xff);
  };
  put(-1, 4); // a mark between records
  file += std::string(16, 's');
  put(16 + 9 + 4 + 12, 4);
  put(16, 4);
  put(1, 8);
  put(1, 8);
  put(30, 4);
  put(1, 4);
  put(1, 1);
  put(1, 4);
  put(28, 4);
  put(0x4000000000000000, 8); // 2.0
  writeText(folder / "x", file);
  Matrix matrix = readMatrix(folder / "x");
  EXPECT_EQ(rowsOf(matrix), 30);
  EXPECT_EQ(colsOf(matrix), 1);
  EXPECT_EQ(cellsOf(matrix)[28], 2);
  writeText(folder / "x", file.substr(0, file.size() - 3));
  EXPECT_THROW(readMatrix(folder / "x"), Error);
}

TEST(BinaryBlocks, DamagedFilesEndInOneLine) {
  TemporaryFolder folder;
  std::mt19937 engine(5);
  std::vector<int64_t> rows = {0, 3, 3}, cols = {1, 0, 9};
  std::vector<double> values = {1, 2, 3};
  writeMatrix(folder / "sparse", CsrMatrix::fromCells(20, 30, rows, cols, values), binary());
  writeMatrix(folder / "dense", counting(4, 5), binary());
  const std::string files[] = {readText(folder / "sparse"), readText(folder / "dense")};
  writeText(metadataPath(folder / "x"), R"({"format": "binary", "rows": 20, "cols": 30})");
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string file = files[i % 2];
    for (int change = 0; change < 2; ++change)
      file[engine() % file.size()] = static_cast<char>(engine());
    writeText(folder / "x", file.substr(0, file.size() - engine() % 3));
    try {
      Matrix matrix = readMatrix(folder / "x");
      EXPECT_EQ(std::ssize(cellsOf(matrix)), rowsOf(matrix) * colsOf(matrix));
    } catch (const Error &error) {
      ++refused;
      EXPECT_CONTAINS(error.what(), folder.path.string());
      EXPECT_FALSE(contains(error.what(), "\n")) << error.what();
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 300);
}

} // namespace
} // namespace headrace
