#include "runtime/matrix/Number.h"
#include "runtime/matrix/Readers.h"
#include "runtime/sparse/RowBuilder.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <cmath>

namespace headrace {

namespace {

/// Puts fields in their place in a dense matrix, and counts nonzeros.
struct DenseSink {
  double *next;
  int64_t nonzeros = 0;
  void append(int64_t, double value) {
    *next++ = value;
    nonzeros += value != 0;
  }
  void endRow() {}
};

struct SparseSink {
  sparse::RowSink &rows;
  void append(int64_t col, double value) {
    rows.append(static_cast<CsrMatrix::Column>(col), value);
  }
  void endRow() { rows.endRow(); }
};

class CsvReader {
public:
  CsvReader(const FileText &file, const FileDescription &description, ThreadPool &pool)
      : file(file), pool(pool), description(description),
        separator(description.separator.value_or(',')),
        fill(description.fill.value_or(description.fillValue.has_value())),
        fillValue(description.fillValue.value_or(0)),
        missing(description.missing.value_or(std::vector<std::string>())), body(file.text()) {
    checkSeparator(separator, file.name());
    if (description.header.value_or(false))
      headerLine = takeLine(body);
  }

  Matrix read() {
    findColumns();
    splitRows();
    if (rows == 0 || cols == 0)
      return Tensor::allocate(DType::F64, {rows, cols});
    // Every cell but the last takes a character at least: with fewer, some row is short. Better
    // to name it than to ask for memory that the file cannot fill.
    if (static_cast<double>(rows) * static_cast<double>(cols) >
        static_cast<double>(body.size()) + 1)
      failAtShortRow();
    int64_t expected = description.nonzeros.value_or(rows * cols);
    return preferSparse(rows, cols, expected) ? readSparse() : readDense();
  }

private:
  void findColumns() {
    std::string_view rest = body;
    std::string_view first = body.empty() ? headerLine : takeLine(rest);
    bool anyFields = !body.empty() || !headerLine.empty();
    cols = anyFields ? fieldsIn(first) : description.cols.value_or(0);
    if (!anyFields && !description.cols)
      file.fail("expected rows of numeric values, got an empty file");
    if (description.cols && cols != *description.cols)
      file.fail(first, "expected " + std::to_string(*description.cols) +
                           " fields, as many as the columns declared, got " + std::to_string(cols));
  }

  /// Counts the rows of every piece, so that each knows where its own begin.
  void splitRows() {
    pieces = splitAtLines(body);
    std::vector<int64_t> counts(pieces.size());
    forPieces(pieces.size(), pool, [&](size_t piece) {
      counts[piece] = std::count(pieces[piece].begin(), pieces[piece].end(), '\n') +
                      (pieces[piece].back() == '\n' ? 0 : 1);
    });
    for (int64_t count : counts) {
      firstRows.push_back(rows);
      rows += count;
    }
    int64_t declared = description.rows.value_or(rows);
    if (cols == 0 && rows == 0)
      rows = declared; // a matrix without columns has nothing to write
    if (rows != declared)
      file.fail("expected " + std::to_string(declared) + " rows as declared, got " +
                std::to_string(rows));
  }

  Matrix readDense() {
    Tensor dense = Tensor::allocate(DType::F64, {rows, cols});
    std::vector<int64_t> nonzeros(pieces.size());
    forPieces(pieces.size(), pool, [&](size_t piece) {
      DenseSink sink{dense.as<double>() + firstRows[piece] * cols};
      readPiece(pieces[piece], sink);
      nonzeros[piece] = sink.nonzeros;
    });
    int64_t total = 0;
    for (int64_t count : nonzeros)
      total += count;
    if (preferSparse(rows, cols, total))
      return CsrMatrix::fromDense(dense, pool);
    return dense;
  }

  Matrix readSparse() {
    CsrMatrix::checkSize(rows, cols);
    std::vector<sparse::RowSink> sinks(pieces.size());
    forPieces(pieces.size(), pool, [&](size_t piece) {
      SparseSink sink{sinks[piece]};
      readPiece(pieces[piece], sink);
    });
    return inPreferredFormat(sparse::joinRows(rows, cols, sinks, pool), pool);
  }

  template <class Sink> void readPiece(std::string_view piece, Sink &sink) const {
    const char *at = piece.begin(), *end = piece.end();
    while (at != end) {
      at = readRow(at, end, sink);
      sink.endRow();
    }
  }

  /// Returns where the next row begins.
  template <class Sink> const char *readRow(const char *row, const char *end, Sink &sink) const {
    const char *at = row;
    for (int64_t col = 0; col < cols; ++col) {
      double value = 0;
      const char *stop = missing.empty() ? parseNumber(at, end, value) : nullptr;
      if (!stop || !(stop == end || *stop == separator || *stop == '\n'))
        stop = readField(at, end, row, col, value);
      sink.append(col, value);
      bool last = col + 1 == cols, atSeparator = stop != end && *stop == separator;
      if (last == atSeparator)
        failAtFields(row, end);
      at = stop == end ? stop : stop + 1;
    }
    return at;
  }

  /// A field that is not just a number: blanks or quotes around it, nothing, or a name for NaN.
  const char *readField(const char *at, const char *end, const char *row, int64_t col,
                        double &value) const {
    const char *stop = std::find_if(at, end, [&](char c) { return c == separator || c == '\n'; });
    std::string_view field = trimmed({at, static_cast<size_t>(stop - at)});
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"')
      field = trimmed(field.substr(1, field.size() - 2));
    if (std::find(missing.begin(), missing.end(), field) != missing.end()) {
      value = std::nan("");
      return stop;
    }
    if (field.empty() && fill) {
      value = fillValue;
      return stop;
    }
    std::optional<double> number = numberOf(field);
    if (!number) {
      if (col == 0 && (stop == end || *stop == '\n') && cols > 1)
        failAtFields(row, end);
      file.fail(field,
                "field " + std::to_string(col + 1) + ": expected a number, got " +
                    (field.empty() ? "nothing; 'fill' or 'default' says what empty fields are"
                                   : inQuotes(field)));
    }
    value = *number;
    return stop;
  }

  int64_t fieldsIn(std::string_view line) const {
    return 1 + std::count(line.begin(), line.end(), separator);
  }

  [[noreturn]] void failAtFields(const char *row, const char *end) const {
    std::string_view rest(row, static_cast<size_t>(end - row)), line = takeLine(rest);
    file.fail(line, "expected " + std::to_string(cols) + " fields, got " +
                        (trimmed(line).empty() ? "an empty line" : std::to_string(fieldsIn(line))));
  }

  [[noreturn]] void failAtShortRow() const {
    for (std::string_view rest = body; !rest.empty();) {
      std::string_view line = takeLine(rest);
      if (fieldsIn(line) != cols)
        failAtFields(line.begin(), body.end());
    }
    throw InternalError("no short row in " + file.name());
  }

  const FileText &file;
  ThreadPool &pool;
  const FileDescription &description;
  const char separator;
  const bool fill;
  const double fillValue;
  const std::vector<std::string> missing;

  std::string_view headerLine, body;
  int64_t rows = 0, cols = 0;
  std::vector<std::string_view> pieces;
  std::vector<int64_t> firstRows;
};

} // namespace

Matrix readCsv(const FileText &file, const FileDescription &description, ThreadPool &pool) {
  return CsvReader(file, description, pool).read();
}

} // namespace headrace
