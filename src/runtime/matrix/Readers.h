#pragma once

#include "runtime/matrix/FileDescription.h"
#include "runtime/matrix/FileText.h"
#include "runtime/matrix/Matrix.h"

/// One reader per format. They check the sizes that the description gives against the file.
namespace headrace {

/// Read a matrix. Throw Error, with the line, if the file does not fit its format or description.
Matrix readCsv(const FileText &file, const FileDescription &description, ThreadPool &pool);
Matrix readTextCells(const FileText &file, const FileDescription &description, ThreadPool &pool);
Matrix readMatrixMarket(const FileText &file, const FileDescription &description, ThreadPool &pool);
Matrix readLibSvm(const FileText &file, const FileDescription &description, ThreadPool &pool);

/// Cells of a matrix in no particular order, 0-based.
struct CellList {
  std::vector<int64_t> rows, cols;
  std::vector<double> values;
};

/// Reads lines `row column value`, or `row column` if all values are 1; blank lines and those
/// that begin with % are skipped.
struct CellFormat {
  int64_t rows, cols;
  bool hasValues;
};
CellList readCells(const FileText &file, std::string_view text, CellFormat format,
                   ThreadPool &pool);

/// The matrix of these cells; repeated ones are added.
Matrix matrixOfCells(const FileText &file, int64_t rows, int64_t cols, const CellList &cells,
                     ThreadPool &pool);

} // namespace headrace
