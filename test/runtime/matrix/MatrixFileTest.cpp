#include "runtime/matrix/MatrixFile.h"

#include "runtime/matrix/Files.h"

#include <limits>
#include <random>

namespace headrace {
namespace {

using namespace test;
namespace fs = std::filesystem;

FileDescription as(FileFormat format) {
  FileDescription how;
  how.format = format;
  return how;
}

constexpr FileFormat formats[] = {FileFormat::Csv, FileFormat::Text, FileFormat::MatrixMarket};

TEST(MatrixFile, EveryFormatGivesTheSameBitsBack) {
  TemporaryFolder folder;
  std::mt19937_64 engine(1);
  std::normal_distribution<double> number;
  double inf = std::numeric_limits<double>::infinity();
  for (FileFormat format : formats)
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {1, 9}, {9, 1}, {900, 70}})
      for (bool sparse : {false, true}) {
        std::vector<double> cells(rows * cols);
        for (double &cell : cells)
          if (!sparse || engine() % 10 == 0)
            cell = number(engine) * std::pow(10.0, static_cast<double>(engine() % 40) - 20);
        cells[0] = inf;
        cells.back() = -inf;
        Tensor dense = matrixOf(rows, cols, cells);
        Matrix matrix = sparse ? Matrix(CsrMatrix::fromDense(dense)) : Matrix(dense);
        writeMatrix(folder / "x", matrix, as(format));
        Matrix back = readMatrix(folder / "x");
        EXPECT_EQ(isSparse(back), preferSparse(rows, cols, nonzerosOf(matrix)));
        EXPECT_EQ(denseOf(back).shape(), (Shape{rows, cols}));
        EXPECT_EQ(cellsOf(back), cells);
      }
}

TEST(MatrixFile, MatricesWithoutCellsSurvive) {
  TemporaryFolder folder;
  for (FileFormat format : formats)
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{0, 4}, {4, 0}, {0, 0}})
      for (bool header : {false, true}) {
        FileDescription how = as(format);
        how.header = header;
        writeMatrix(folder / "x", CsrMatrix::empty(rows, cols), how);
        Matrix back = readMatrix(folder / "x");
        EXPECT_EQ(rowsOf(back), rows);
        EXPECT_EQ(colsOf(back), cols);
      }
}

TEST(MatrixFile, WritesItsMetadata) {
  TemporaryFolder folder;
  FileDescription how;
  how.header = true;
  how.separator = ';';
  writeMatrix(folder / "x.csv", matrixOf(2, 2, {1, 0, -2.5, 1e300}), how);
  EXPECT_EQ(readText(folder / "x.csv"), "C1;C2\n1;0\n-2.5;1e+300\n");
  EXPECT_EQ(readText(folder / "x.csv.mtd"), "{\n"
                                            "    \"data_type\": \"matrix\",\n"
                                            "    \"value_type\": \"double\",\n"
                                            "    \"rows\": 2,\n"
                                            "    \"cols\": 2,\n"
                                            "    \"nnz\": 3,\n"
                                            "    \"format\": \"csv\",\n"
                                            "    \"header\": true,\n"
                                            "    \"sep\": \";\"\n"
                                            "}\n");
  EXPECT_EQ(cellsOf(readMatrix(folder / "x.csv")), (std::vector<double>{1, 0, -2.5, 1e300}));
}

TEST(MatrixFile, WritesCellsThatAreNotZero) {
  TemporaryFolder folder;
  Tensor dense = matrixOf(2, 2, {0, 3, 0.5, 0});
  for (const Matrix &matrix : {Matrix(dense), Matrix(CsrMatrix::fromDense(dense))}) {
    writeMatrix(folder / "x", matrix);
    EXPECT_EQ(readText(folder / "x"), "1 2 3\n2 1 0.5\n");
    writeMatrix(folder / "x.mtx", matrix);
    EXPECT_EQ(readText(folder / "x.mtx"),
              "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3\n2 1 0.5\n");
  }
}

TEST(MatrixFile, ThreadsDoNotChangeTheFile) {
  TemporaryFolder folder;
  std::vector<double> cells(50'000 * 4);
  for (size_t i = 0; i < cells.size(); ++i)
    cells[i] = static_cast<double>(i % 977) / 7;
  Tensor dense = matrixOf(50'000, 4, cells);
  for (FileFormat format : formats) {
    ThreadPool one(1), three(3);
    writeMatrix(folder / "one", dense, as(format), one);
    writeMatrix(folder / "three", dense, as(format), three);
    EXPECT_EQ(readText(folder / "one"), readText(folder / "three"));
  }
}

TEST(MatrixFile, LeavesNoHalfFiles) {
  TemporaryFolder folder;
  Tensor matrix = matrixOf(1, 1, {1});
  errorOf(ErrorKind::Io, [&] { writeMatrix(folder / "none" / "x.csv", matrix); });
  fs::create_directory(folder / "taken.csv.mtd");
  errorOf(ErrorKind::Io, [&] { writeMatrix(folder / "taken.csv", matrix); });
  FileDescription how;
  how.separator = '1';
  errorOf(ErrorKind::InvalidArgument, [&] { writeMatrix(folder / "x.csv", matrix, how); });
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1);
  errorOf(ErrorKind::TypeMismatch, [&] { writeMatrix(folder / "x.csv", floats({1, 1}, {1})); });
  errorOf(ErrorKind::ShapeMismatch,
          [&] { writeMatrix(folder / "x.csv", tensorOf<double>(DType::F64, {1}, {1})); });
}

TEST(MatrixFile, WhatIsSaidGoesBeforeMetadata) {
  FileDescription said;
  said.separator = ';';
  said.header = false;
  EXPECT_EQ(cellsOf(readContent("x", "1;2\n",
                                R"({"format": "csv", "sep": ",", "header": true, "author": "me"})",
                                said)),
            (std::vector<double>{1, 2}));
}

TEST(MatrixFile, DescribesWithoutReadingCells) {
  TemporaryFolder folder;
  writeText(folder / "x.csv.mtd", R"({"data_type": "matrix", "value_type": "int", "rows": 5,
      "cols": -1, "nnz": "7", "format": "csv", "header": "TRUE", "sep": "|", "fill": false,
      "default": 2.5, "naStrings": ["NA", ""]})");
  FileDescription found = describeFile(folder / "x.csv");
  EXPECT_EQ(found.content, FileContent::Matrix);
  EXPECT_EQ(found.value, FileValue::Integer);
  EXPECT_EQ(found.rows, 5);
  EXPECT_FALSE(found.cols);
  EXPECT_EQ(found.nonzeros, 7);
  EXPECT_EQ(found.format, FileFormat::Csv);
  EXPECT_EQ(found.header, true);
  EXPECT_EQ(found.separator, '|');
  EXPECT_EQ(found.fill, false);
  EXPECT_EQ(found.fillValue, 2.5);
  EXPECT_EQ(found.missing, (std::vector<std::string>{"NA", ""}));
}

TEST(MatrixFile, AbsentFilesAreNamed) {
  TemporaryFolder folder;
  for (const char *name : {"none", "none.csv"})
    EXPECT_CONTAINS(errorOf(ErrorKind::Io, [&] { readMatrix(folder / name); }),
                    std::string(name) + ": cannot open: No such file");
  writeText(folder / "lonely.mtd", R"({"format": "csv"})");
  EXPECT_CONTAINS(errorOf(ErrorKind::Io, [&] { readMatrix(folder / "lonely"); }), "lonely: cannot");
  fs::create_directory(folder / "folder.csv");
  EXPECT_CONTAINS(errorOf(ErrorKind::InvalidFile, [&] { readMatrix(folder / "folder.csv"); }),
                  "expected part files in this directory, got none");
}

class BadMetadata : public testing::TestWithParam<BadFile> {};

TEST_P(BadMetadata, IsRefusedWithItsEntryAndReason) { expectRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    MatrixFile, BadMetadata,
    testing::Values(
        BadFile{"None", "x.dat", "1 1 1\n", "", "or in x.dat.mtd"},
        BadFile{"NoFormat", "x.dat", "1 1 1\n", R"({"rows": 1})", "in 'format' in x.dat.mtd"},
        BadFile{"NotJson", "x.csv", "1\n", "{\n\"rows\": 1,\n oops}", "x.csv.mtd:3: expected JSON"},
        BadFile{"Cut", "x.csv", "1\n", "{\"rows\": 1", "x.csv.mtd:1: expected JSON"},
        BadFile{"List", "x.csv", "1\n", "[1]", "expected a JSON object"},
        BadFile{"Deep", "x.csv", "1\n", std::string(500'000, '['), "expected JSON"},
        BadFile{"Huge", "x.csv", "1\n", std::string(2'000'000, ' '), "at most 1 MB"},
        BadFile{"Word", "x.csv", "1\n", R"({"rows": "many"})",
                "'rows': expected an integer of 0 or more, got '\"many\"'"},
        BadFile{"Fraction", "x.csv", "1\n", R"({"cols": 1.5})", "'cols'"},
        BadFile{"Negative", "x.csv", "1\n", R"({"rows": -2})", "got '-2'"},
        BadFile{"Absurd", "x.csv", "1\n", R"({"rows": 18446744073709551615})", "'rows'"},
        BadFile{"Flag", "x.csv", "1\n", R"({"header": 3})", "'header': expected true or false"},
        BadFile{"Separator", "x.csv", "1\n", R"({"sep": "::"})", "'sep': expected one character",
                ErrorKind::Unsupported},
        BadFile{"SeparatorType", "x.csv", "1\n", R"({"sep": 1})", "'sep': expected a text"},
        BadFile{"Default", "x.csv", "1\n", R"({"default": "x"})", "'default': expected a number"},
        BadFile{"Missing", "x.csv", "1\n", R"({"naStrings": [1]})", "'naStrings'"},
        BadFile{"Format", "x.csv", "1\n", R"({"format": "blocks"})",
                "'format': expected one of csv, text, mm, libsvm, npy, binary, got 'blocks'",
                ErrorKind::Unsupported},
        BadFile{"Frame", "x.csv", "1\n", R"({"data_type": "frame"})",
                "expected a matrix, but it is described as a frame", ErrorKind::TypeMismatch},
        BadFile{"Strings", "x.csv", "1\n", R"({"value_type": "string"})", "numeric matrix",
                ErrorKind::Unsupported},
        BadFile{"Scalar", "x.csv", "1\n", R"({"data_type": "scalar"})", "says that it is a scalar",
                ErrorKind::TypeMismatch}),
    badFileName);

TEST(ScalarFile, EveryTypeSurvives) {
  TemporaryFolder folder;
  for (const Scalar &scalar :
       {Scalar(0.1), Scalar(-std::numeric_limits<double>::infinity()), Scalar(int64_t{-42}),
        Scalar(true), Scalar(false), Scalar(std::string("a text, with \"quotes\"")),
        Scalar(std::string())}) {
    writeScalar(folder / "s", scalar);
    EXPECT_EQ(readScalar(folder / "s"), scalar);
  }
  EXPECT_EQ(readText(folder / "s.mtd"),
            "{\n    \"data_type\": \"scalar\",\n    \"value_type\": \"string\"\n}\n");
}

TEST(ScalarFile, IsADoubleUnlessSaid) {
  TemporaryFolder folder;
  writeText(folder / "s", " 2.5 \n");
  EXPECT_EQ(readScalar(folder / "s"), Scalar(2.5));
  FileDescription said;
  auto refusal = [&](FileValue value) {
    said.value = value;
    return errorOf(ErrorKind::InvalidFile, [&] { readScalar(folder / "s", said); });
  };
  EXPECT_CONTAINS(refusal(FileValue::Integer), "s: expected an integer, got '2.5'");
  EXPECT_CONTAINS(refusal(FileValue::Boolean), "expected TRUE or FALSE, got '2.5'");
  writeText(folder / "s", "");
  EXPECT_CONTAINS(refusal(FileValue::Double), "expected a number, got nothing");
}

} // namespace
} // namespace headrace
