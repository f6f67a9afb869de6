#include "runtime/matrix/Files.h"

namespace headrace {
namespace {

using namespace test;

void expectMatrix(const Matrix &matrix, int64_t rows, int64_t cols,
                  const std::vector<double> &cells) {
  EXPECT_EQ(rowsOf(matrix), rows);
  EXPECT_EQ(colsOf(matrix), cols);
  EXPECT_EQ(cellsOf(matrix), cells);
}

TEST(ReadCsv, FindsTheSizes) {
  expectMatrix(readContent("x.csv", "1,2.5,-3\n4,5e1,6\n"), 2, 3, {1, 2.5, -3, 4, 50, 6});
  expectMatrix(readContent("x.csv", "1,2\n3,4"), 2, 2, {1, 2, 3, 4});
  expectMatrix(readContent("x.csv", "7"), 1, 1, {7});
  expectMatrix(readContent("x.csv", "1\n2\n3\n\n\r\n\n"), 3, 1, {1, 2, 3});
  expectMatrix(readContent("x.csv", "1,2\r\n3,4\r\n"), 2, 2, {1, 2, 3, 4});
  expectMatrix(readContent("x.csv", "\xEF\xBB\xBF"
                                    "1,2\n"),
               1, 2, {1, 2});
}

TEST(ReadCsv, TakesBlanksAndQuotesAroundNumbers) {
  expectMatrix(readContent("x.csv", " 1 ,\t2\n\"3\",\" -4 \"\n"), 2, 2, {1, 2, 3, -4});
}

TEST(ReadCsv, SkipsTheHeader) {
  FileDescription said;
  said.header = true;
  expectMatrix(readContent("x.csv", "a,\"b\"\n1,2\n", "", said), 1, 2, {1, 2});
  expectMatrix(readContent("x.csv", "a,b\n", "", said), 0, 2, {});
}

TEST(ReadCsv, EmptyFieldsAreFilled) {
  FileDescription filled, valued;
  filled.fill = true;
  expectMatrix(readContent("x.csv", "1,,3\n,5,\n", "", filled), 2, 3, {1, 0, 3, 0, 5, 0});
  expectMatrix(readContent("x.csv", "1\n\n3\n", "", filled), 3, 1, {1, 0, 3});
  valued.fillValue = -1;
  expectMatrix(readContent("x.csv", "1, \n,4", "", valued), 2, 2, {1, -1, -1, 4});
}

TEST(ReadCsv, MissingValuesAreNan) {
  FileDescription said;
  said.missing = {{"NA", "-999"}};
  std::vector<double> cells = cellsOf(readContent("x.csv", "1,NA\n-999,\"NA\"\n", "", said));
  EXPECT_EQ(cells[0], 1);
  for (size_t i : {1, 2, 3})
    EXPECT_TRUE(std::isnan(cells[i]));
}

TEST(ReadCsv, TheSeparatorIsFree) {
  for (char separator : {';', '\t', ' ', '|'}) {
    FileDescription said;
    said.separator = separator;
    std::string text = std::string("1") + separator + "2\n3" + separator + "4\n";
    expectMatrix(readContent("x.csv", text, "", said), 2, 2, {1, 2, 3, 4});
  }
  for (char separator : {'.', '1', 'e', '\n', '-', '"'}) {
    FileDescription said;
    said.separator = separator;
    EXPECT_CONTAINS(
        errorOf(ErrorKind::InvalidArgument, [&] { readContent("x.csv", "1\n", "", said); }),
        "no number contains");
  }
}

TEST(ReadCsv, TheFormatFollowsTheNonzeros) {
  EXPECT_TRUE(isSparse(readContent("x.csv", "0,0,0\n0,1,0\n")));
  EXPECT_FALSE(isSparse(readContent("x.csv", "0,1,0\n0,1,1\n")));
  EXPECT_FALSE(isSparse(readContent("x.csv", "0\n0\n0\n")));
  // A wrong number of nonzeros only costs time.
  for (const char *metadata : {"{\"nnz\": 0}", "{\"nnz\": 6}"}) {
    Matrix sparse = readContent("x.csv", "0,0,0\n0,1,0\n", metadata);
    Matrix dense = readContent("x.csv", "1,2,3\n4,5,6\n", metadata);
    EXPECT_TRUE(isSparse(sparse));
    EXPECT_FALSE(isSparse(dense));
    expectMatrix(sparse, 2, 3, {0, 0, 0, 0, 1, 0});
    expectMatrix(dense, 2, 3, {1, 2, 3, 4, 5, 6});
  }
}

TEST(ReadCsv, MatricesWithoutCellsNeedTheirSizes) {
  expectMatrix(readContent("x.csv", "", R"({"rows": 0, "cols": 3})"), 0, 3, {});
  expectMatrix(readContent("x.csv", "", R"({"rows": 3, "cols": 0})"), 3, 0, {});
}

/// Several pieces of a megabyte; one field a row tells the row.
std::string longCsv(int64_t rows, const std::string &rowOf, int64_t wrongRow) {
  std::string text;
  for (int64_t row = 0; row < rows; ++row)
    text += row == wrongRow ? rowOf : std::to_string(row) + ",0.25,-3.5e-1\n";
  return text;
}

TEST(ReadCsv, LongFilesAreReadInPieces) {
  TemporaryFolder folder;
  int64_t rows = 200'000;
  writeText(folder / "x.csv", longCsv(rows, "", -1));
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    Matrix matrix = readMatrix(folder / "x.csv", {}, pool);
    ASSERT_EQ(rowsOf(matrix), rows);
    const auto *cells = std::get<Tensor>(matrix).as<double>();
    for (int64_t row = 0; row < rows; ++row)
      ASSERT_TRUE(cells[3 * row] == row && cells[3 * row + 1] == 0.25 &&
                  cells[3 * row + 2] == -0.35)
          << row;
  }
}

TEST(ReadCsv, TheFirstErrorOfALongFileIsTold) {
  TemporaryFolder folder;
  writeText(folder / "x.csv", longCsv(100'000, "1,2\n", 50'000) + longCsv(100'000, "1,x,2\n", 9));
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    EXPECT_CONTAINS(
        errorOf(ErrorKind::InvalidFile, [&] { readMatrix(folder / "x.csv", {}, pool); }),
        "x.csv:50001: expected 3 fields, got 2");
  }
}

class BadCsv : public testing::TestWithParam<BadFile> {};

TEST_P(BadCsv, IsRefusedWithItsPlaceAndReason) { expectRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    ReadCsv, BadCsv,
    testing::Values(
        BadFile{"Short", "x.csv", "1,2,3\n4,5\n6,7,8\n", "", "x.csv:2: expected 3 fields, got 2"},
        BadFile{"Long", "x.csv", "1,2\n3,4,5\n", "", "x.csv:2: expected 2 fields, got 3"},
        BadFile{"Trailing", "x.csv", "1,2\n3,4,\n", "", "x.csv:2: expected 2 fields, got 3"},
        BadFile{"EmptyLine", "x.csv", "1,2\n\n3,4\n", "",
                "x.csv:2: expected 2 fields, got an empty"},
        BadFile{"Word", "x.csv", "1,2\n3,four\n", "",
                "x.csv:2: field 2: expected a number, got 'four'"},
        BadFile{"HeaderUntold", "x.csv", "a,b\n1,2\n", "",
                "x.csv:1: field 1: expected a number, got 'a'"},
        BadFile{"HalfANumber", "x.csv", "1,2\n3,4x\n", "", "field 2: expected a number, got '4x'"},
        BadFile{"Control", "x.csv", std::string("1,\x1b[31m\n"), "", "got '\\x1b[31m'"},
        BadFile{"LongWord", "x.csv", std::string(1000, 'a'), "", "aaa...'"},
        BadFile{"Quote", "x.csv", "\"1,2\n", "", "field 1: expected a number, got '\"1'"},
        BadFile{"NotFilled", "x.csv", "1,2\n3,\n", "",
                "x.csv:2: field 2: expected a number, got nothing; 'fill' or 'default' says"},
        BadFile{"NeverFilled", "x.csv", "1,,2\n", "{\"fill\": false, \"default\": 1}",
                "x.csv:1: field 2: expected a number, got nothing"},
        BadFile{"TrailingSeparator", "x.csv", "1,2,\n3,4,\n", "",
                "x.csv:1: field 3: expected a number, got nothing"},
        BadFile{"Zeros", "x.csv", std::string("1,2\n3,\0\n", 8), "", "field 2"},
        BadFile{"Empty", "x.csv", "", "", "got an empty file"},
        BadFile{"OnlyLineEnds", "x.csv", "\n\n", "", "got an empty file"},
        BadFile{"FewerRows", "x.csv", "1,2\n3,4\n", R"({"rows": 3, "cols": 2})",
                "expected 3 rows as declared, got 2"},
        BadFile{"MoreRows", "x.csv", "1,2\n3,4\n", R"({"rows": 1, "cols": 2})",
                "expected 1 rows as declared, got 2"},
        BadFile{"NoRows", "x.csv", "", R"({"rows": 1, "cols": 2})", "got 0"},
        BadFile{"OtherColumns", "x.csv", "1,2\n3,4\n", R"({"rows": 2, "cols": 3})",
                "x.csv:1: expected 3 fields, as many as the columns declared, got 2"},
        BadFile{"Vast", "x.csv", "1,2\n", R"({"rows": 9000000000000000000, "cols": 2})",
                "9000000000000000000 rows"},
        // The first row asks for 10^11 cells that the file does not have.
        BadFile{"ManyShortRows", "x.csv",
                std::string(1'000'000, ',') + "\n" +
                    [] {
                      std::string rows;
                      for (int i = 0; i < 100'000; ++i)
                        rows += "1\n";
                      return rows;
                    }(),
                "", "x.csv:2: expected 1000001 fields, got 1"}),
    badFileName);

} // namespace
} // namespace headrace
