// https://math.nist.gov/MatrixMarket/formats.html
#include "runtime/matrix/Number.h"
#include "runtime/matrix/Readers.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace headrace {

namespace {

enum class Symmetry { General, Symmetric, SkewSymmetric };

struct Banner {
  bool coordinates = true, hasValues = true;
  Symmetry symmetry = Symmetry::General;
};

std::string lowerCase(std::string_view word) {
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// "%%MatrixMarket matrix coordinate real general".
Banner readBanner(const FileText &file, std::string_view line) {
  std::array<std::string, 5> words;
  for (std::string &word : words)
    word = lowerCase(takeWord(line));
  const auto &[magic, object, layout, field, symmetry] = words;
  if (magic != "%%matrixmarket")
    file.fail(file.text(), "expected a line %%MatrixMarket, got " + inQuotes(magic));
  auto unsupported = [&](const char *expected, const std::string &found) {
    throw Error(ErrorKind::Unsupported,
                file.name() + ":1: expected " + expected + ", got " + inQuotes(found));
  };
  Banner banner;
  if (object != "matrix")
    unsupported("a matrix", object);
  if (layout != "coordinate" && layout != "array")
    unsupported("coordinate or array", layout);
  banner.coordinates = layout == "coordinate";
  if (field != "real" && field != "integer" && field != "double" && field != "pattern")
    unsupported("real, integer or pattern values", field);
  banner.hasValues = field != "pattern";
  if (!banner.hasValues && !banner.coordinates)
    file.fail(file.text(), "expected values in an array, got a pattern");
  if (symmetry == "symmetric")
    banner.symmetry = Symmetry::Symmetric;
  else if (symmetry == "skew-symmetric")
    banner.symmetry = Symmetry::SkewSymmetric;
  else if (symmetry != "general")
    unsupported("general, symmetric or skew-symmetric", symmetry);
  return banner;
}

struct Sizes {
  int64_t rows, cols, entries;
};

/// The line "rows cols entries", or of an array "rows cols"; moves `text` behind it.
Sizes readSizes(const FileText &file, std::string_view &text, const Banner &banner) {
  std::string_view line;
  while (line.empty() || line.front() == '%') {
    if (text.empty())
      file.fail("expected a line of sizes after the first, got the end of the file");
    line = trimmed(takeLine(text));
  }
  std::string_view place = line;
  std::array<int64_t, 3> sizes{};
  size_t count = banner.coordinates ? 3 : 2;
  for (size_t i = 0; i < count; ++i) {
    sizes[i] = wholeNumberOf(takeWord(line)).value_or(-1);
    if (sizes[i] < 0)
      file.fail(place, banner.coordinates ? "expected sizes: rows, columns, entries"
                                          : "expected sizes: rows, columns");
  }
  if (!trimmed(line).empty())
    file.fail(place, "expected the end of the line of sizes, got " + inQuotes(trimmed(line)));
  if (banner.symmetry != Symmetry::General && sizes[0] != sizes[1])
    file.fail(place,
              "expected a symmetric matrix to be square, got " + shapeString({sizes[0], sizes[1]}));
  return {sizes[0], sizes[1], sizes[2]};
}

void addMirrored(CellList &cells, Symmetry symmetry) {
  size_t count = cells.values.size();
  for (size_t i = 0; i < count; ++i) {
    if (cells.rows[i] == cells.cols[i])
      continue;
    cells.rows.push_back(cells.cols[i]);
    cells.cols.push_back(cells.rows[i]);
    cells.values.push_back(symmetry == Symmetry::Symmetric ? cells.values[i] : -cells.values[i]);
  }
}

Matrix readCoordinates(const FileText &file, std::string_view text, const Banner &banner,
                       Sizes sizes, ThreadPool &pool) {
  CellList cells = readCells(file, text, {sizes.rows, sizes.cols, banner.hasValues}, pool);
  auto found = static_cast<int64_t>(cells.values.size());
  if (found != sizes.entries)
    file.fail("expected " + std::to_string(sizes.entries) + " entries as declared, got " +
              std::to_string(found));
  if (banner.symmetry != Symmetry::General)
    addMirrored(cells, banner.symmetry);
  return matrixOfCells(file, sizes.rows, sizes.cols, cells, pool);
}

/// The values of an array, one a line, whatever they stand for.
std::vector<double> readValues(const FileText &file, std::string_view text, double expected) {
  std::vector<double> values;
  while (!text.empty()) {
    std::string_view line = trimmed(takeLine(text));
    if (line.empty() || line.front() == '%')
      continue;
    std::optional<double> value = numberOf(line);
    if (!value)
      file.fail(line, "expected a number, got " + inQuotes(line));
    values.push_back(*value);
  }
  if (static_cast<double>(values.size()) != expected)
    file.fail("expected " + std::to_string(static_cast<int64_t>(expected)) +
              " values for its sizes, got " + std::to_string(values.size()));
  return values;
}

/// Columns one after the other; of a symmetric matrix only from the diagonal down, of a
/// skew-symmetric one from below it.
Matrix readArray(const FileText &file, std::string_view text, const Banner &banner, Sizes sizes,
                 ThreadPool &pool) {
  auto rows = static_cast<double>(sizes.rows), cols = static_cast<double>(sizes.cols);
  bool general = banner.symmetry == Symmetry::General;
  bool skew = banner.symmetry == Symmetry::SkewSymmetric;
  std::vector<double> values =
      readValues(file, text, general ? rows * cols : rows * (rows + (skew ? -1 : 1)) / 2);
  Tensor dense = Tensor::allocate(DType::F64, {sizes.rows, sizes.cols});
  auto *cells = dense.as<double>();
  std::fill_n(cells, dense.elements(), 0.0);
  auto next = values.begin();
  for (int64_t col = 0; col < sizes.cols; ++col)
    for (int64_t row = general ? 0 : col + (skew ? 1 : 0); row < sizes.rows; ++row) {
      cells[row * sizes.cols + col] = *next;
      if (!general)
        cells[col * sizes.cols + row] = skew ? -*next : *next;
      ++next;
    }
  return inPreferredFormat(dense, pool);
}

} // namespace

Matrix readMatrixMarket(const FileText &file, const FileDescription &description,
                        ThreadPool &pool) {
  std::string_view text = file.text();
  Banner banner = readBanner(file, takeLine(text));
  Sizes sizes = readSizes(file, text, banner);
  if (description.rows.value_or(sizes.rows) != sizes.rows ||
      description.cols.value_or(sizes.cols) != sizes.cols)
    file.fail("expected a matrix of " +
              shapeString(
                  {description.rows.value_or(sizes.rows), description.cols.value_or(sizes.cols)}) +
              " as declared, got " + shapeString({sizes.rows, sizes.cols}));
  return banner.coordinates ? readCoordinates(file, text, banner, sizes, pool)
                            : readArray(file, text, banner, sizes, pool);
}

} // namespace headrace
