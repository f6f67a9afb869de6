#include "runtime/matrix/Files.h"

#include <random>

namespace headrace {
namespace {

using namespace test;

struct Sound {
  const char *name, *content, *metadata;
};

const Sound files[] = {
    {"x.csv", "1,2.5,-3e2\n\"4\", 5,\n7,NaN,9\r\n", R"({"rows": 3, "cols": 3, "nnz": 9})"},
    {"x.csv", "a;b\n0;0\n0;NA\n", R"({"header": true, "sep": ";", "naStrings": ["NA"], "nnz": 1})"},
    {"x", "1 1 2.5\n3 2 -1\n\n2 2 1e5\n", R"({"format": "text", "rows": 3, "cols": 4})"},
    {"x", "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 2\n1 1 5\n3 1 2\n", ""},
    {"x", "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n", ""},
};

/// Some bytes replaced by others that such files contain, and perhaps the end cut off.
std::string damaged(std::string text, std::mt19937 &engine) {
  const std::string bytes = ",;.\n\r \"%-+eENa0199{}[]:\t" + std::string(1, '\0') + "\xff";
  for (size_t changes = engine() % 3; changes > 0 && !text.empty(); --changes)
    text[engine() % text.size()] = bytes[engine() % bytes.size()];
  return engine() % 4 == 0 ? text.substr(0, engine() % (text.size() + 1)) : text;
}

TEST(DamagedFiles, AreReadOrRefusedInOneLine) {
  TemporaryFolder folder;
  std::mt19937 engine(1);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    const Sound &file = files[i % std::size(files)];
    writeText(folder / file.name, damaged(file.content, engine));
    std::filesystem::remove(metadataPath(folder / file.name));
    if (*file.metadata)
      writeText(metadataPath(folder / file.name), damaged(file.metadata, engine));
    try {
      Matrix matrix = readMatrix(folder / file.name);
      EXPECT_EQ(static_cast<int64_t>(cellsOf(matrix).size()), rowsOf(matrix) * colsOf(matrix));
    } catch (const Error &error) {
      ++refused;
      EXPECT_CONTAINS(error.what(), folder.path.string());
      EXPECT_FALSE(contains(error.what(), "\n")) << error.what();
    }
  }
  EXPECT_GT(refused, 80);
  EXPECT_LT(refused, 480);
}

} // namespace
} // namespace headrace
