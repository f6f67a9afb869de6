#include "runtime/matrix/Files.h"

namespace headrace {
namespace {

using namespace test;

const char *sizes23 = R"({"rows": 2, "cols": 3, "format": "text"})";

TEST(ReadText, CellsAreOneBasedAndOthersZero) {
  Matrix matrix = readContent("x", "2 3 -1.5\n1 1 4\n", sizes23);
  EXPECT_TRUE(isSparse(matrix));
  EXPECT_EQ(cellsOf(matrix), (std::vector<double>{4, 0, 0, 0, 0, -1.5}));
}

TEST(ReadText, ManyCellsAreDense) {
  Matrix matrix = readContent("x", "1 1 1\n1 2 2\n\n2 1\t3\r\n2 2 4\n", sizes23);
  EXPECT_FALSE(isSparse(matrix));
  EXPECT_EQ(cellsOf(matrix), (std::vector<double>{1, 2, 0, 3, 4, 0}));
}

TEST(ReadText, RepeatedCellsAreAddedAndZerosDropped) {
  Matrix matrix = readContent("x", "1 1 1\n1 1 2\n2 2 0\n", sizes23);
  EXPECT_EQ(cellsOf(matrix), (std::vector<double>{3, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(isSparse(matrix));
  EXPECT_EQ(nonzerosOf(matrix), 1);
}

TEST(ReadText, NoCellsAtAll) {
  Matrix matrix = readContent("x", "", sizes23);
  EXPECT_EQ(rowsOf(matrix), 2);
  EXPECT_EQ(colsOf(matrix), 3);
  EXPECT_EQ(nonzerosOf(matrix), 0);
}

TEST(ReadText, LongFilesAreReadInPieces) {
  TemporaryFolder folder;
  std::string text;
  int64_t rows = 300'000;
  for (int64_t row = 1; row <= rows; ++row)
    text +=
        std::to_string(row) + " " + std::to_string(row % 7 + 1) + " " + std::to_string(row) + "\n";
  writeText(folder / "x", text);
  FileDescription said;
  said.format = FileFormat::Text;
  said.rows = rows;
  said.cols = 7;
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    CsrMatrix matrix = std::get<CsrMatrix>(readMatrix(folder / "x", said, pool));
    ASSERT_EQ(matrix.nonzeros(), rows);
    for (int64_t row = 0; row < rows; ++row)
      ASSERT_EQ(matrix.at(row, (row + 1) % 7), row + 1);
  }
}

TEST(ReadMatrixMarket, IsKnownByItsFirstLine) {
  Matrix matrix = readContent("x", "%%MatrixMarket matrix coordinate real general\n"
                                   "% made by hand\n\n2 3 2\n1 3 2.5\n2 1 -1\n");
  EXPECT_TRUE(isSparse(matrix));
  EXPECT_EQ(cellsOf(matrix), (std::vector<double>{0, 0, 2.5, -1, 0, 0}));
}

TEST(ReadMatrixMarket, CoordinatesOfEveryKind) {
  auto cells = [](const std::string &kind, const std::string &rest) {
    return cellsOf(readContent("x.mtx", "%%matrixmarket MATRIX coordinate " + kind + "\n" + rest));
  };
  EXPECT_EQ(cells("pattern general", "2 2 2\n1 2\n2 1\n"), (std::vector<double>{0, 1, 1, 0}));
  EXPECT_EQ(cells("integer symmetric", "2 2 2\n1 1 7\n2 1 3\n"), (std::vector<double>{7, 3, 3, 0}));
  EXPECT_EQ(cells("real skew-symmetric", "2 2 1\n2 1 3\n"), (std::vector<double>{0, -3, 3, 0}));
  EXPECT_EQ(cells("real general", "0 5 0\n"), (std::vector<double>{}));
}

TEST(ReadMatrixMarket, ArraysGoDownTheColumns) {
  auto cells = [](const std::string &kind, const std::string &rest) {
    return cellsOf(readContent("x.mtx", "%%MatrixMarket matrix array real " + kind + "\n" + rest));
  };
  EXPECT_EQ(cells("general", "2 3\n1\n2\n3\n4\n5\n6\n"), (std::vector<double>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(cells("symmetric", "2 2\n1\n2\n3\n"), (std::vector<double>{1, 2, 2, 3}));
  EXPECT_EQ(cells("skew-symmetric", "2 2\n5\n"), (std::vector<double>{0, -5, 5, 0}));
}

std::string market(const std::string &kind, const std::string &rest) {
  return "%%MatrixMarket matrix " + kind + "\n" + rest;
}

class BadCells : public testing::TestWithParam<BadFile> {};

TEST_P(BadCells, IsRefusedWithItsPlaceAndReason) { expectRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    ReadText, BadCells,
    testing::Values(
        BadFile{"NoSizes", "x.ijv", "1 1 1\n", R"({"format": "text"})",
                "expected its rows and cols as arguments, or in x.ijv.mtd"},
        BadFile{"RowZero", "x", "1 1 1\n0 1 1\n", sizes23,
                "x:2: expected a row from 1 to 2, got '0'"},
        BadFile{"RowBeyond", "x", "3 1 1\n", sizes23, "x:1: expected a row from 1 to 2, got '3'"},
        BadFile{"ColumnBeyond", "x", "1 4 1\n", sizes23, "column from 1 to 3, got '4'"},
        BadFile{"Fraction", "x", "1.5 1 1\n", sizes23, "got '1.5'"},
        BadFile{"HugeRow", "x", "99999999999999999999 1 1\n", sizes23, "from 1 to 2"},
        BadFile{"NoValue", "x", "1 1 1\n1 2\n", sizes23,
                "x:2: expected a number after row and column, got nothing"},
        BadFile{"NoColumn", "x", "1\n", sizes23, "expected a column from 1 to 3, got nothing"},
        BadFile{"Word", "x", "1 2 abc\n", sizes23, "got 'abc'"},
        BadFile{"Four", "x", "1 2 3 4\n", sizes23, "expected the end of the line, got '4'"},
        BadFile{"VastDense", "x", "1 1 1\n",
                R"({"rows": 1000000000000000, "cols": 1, "format": "text"})", "memory"},
        BadFile{"VastSparse", "x", "1 1 1\n",
                R"({"rows": 100000000000000, "cols": 5, "format": "text"})", "memory"}),
    badFileName);

INSTANTIATE_TEST_SUITE_P(
    ReadMatrixMarket, BadCells,
    testing::Values(
        BadFile{"NoBanner", "x.mtx", "1 1 1\n", "", "x.mtx:1: expected a line %%MatrixMarket"},
        BadFile{"Empty", "x.mtx", "", "", "expected a line %%MatrixMarket"},
        BadFile{"Vector", "x.mtx", "%%MatrixMarket vector coordinate real general\n", "",
                "expected a matrix, got 'vector'", ErrorKind::Unsupported},
        BadFile{"Layout", "x.mtx", market("list real general", ""), "", "coordinate or array",
                ErrorKind::Unsupported},
        BadFile{"Complex", "x.mtx", market("coordinate complex general", ""), "", "got 'complex'",
                ErrorKind::Unsupported},
        BadFile{"Hermitian", "x.mtx", market("coordinate real hermitian", ""), "",
                "got 'hermitian'", ErrorKind::Unsupported},
        BadFile{"PatternArray", "x.mtx", market("array pattern general", ""), "", "pattern"},
        BadFile{"NoSizes", "x.mtx", market("coordinate real general", "% nothing\n"), "",
                "expected a line of sizes"},
        BadFile{"TwoSizes", "x.mtx", market("coordinate real general", "2 2\n"), "",
                "x.mtx:2: expected sizes: rows, columns, entries"},
        BadFile{"ThreeSizes", "x.mtx", market("array real general", "2 2 4\n1\n"), "", "got '4'"},
        BadFile{"Negative", "x.mtx", market("coordinate real general", "-2 2 0\n"), "", "sizes"},
        BadFile{"NotSquare", "x.mtx", market("coordinate real symmetric", "2 3 0\n"), "",
                "square, got 2x3"},
        BadFile{"Truncated", "x.mtx", market("coordinate real general", "2 2 3\n1 1 1\n2 2 2\n"),
                "", "expected 3 entries as declared, got 2"},
        BadFile{"MoreEntries", "x.mtx", market("coordinate real general", "2 2 0\n1 1 1\n"), "",
                "expected 0 entries as declared, got 1"},
        BadFile{"Outside", "x.mtx", market("coordinate real general", "2 2 1\n3 1 1\n"), "",
                "x.mtx:3: expected a row from 1 to 2, got '3'"},
        BadFile{"ArrayShort", "x.mtx", market("array real general", "2 2\n1\n2\n3\n"), "",
                "expected 4 values for its sizes, got 3"},
        BadFile{"ArrayVast", "x.mtx", market("array real general", "2000000000 2000000000\n1\n"),
                "", "4000000000000000000 values"},
        BadFile{"ArrayWord", "x.mtx", market("array real general", "1 1\nx\n"), "",
                "x.mtx:3: expected a number, got 'x'"},
        BadFile{"OtherSizes", "x.mtx", market("coordinate real general", "2 2 0\n"),
                R"({"rows": 2, "cols": 3})", "expected a matrix of 2x3 as declared, got 2x2"}),
    badFileName);

} // namespace
} // namespace headrace
