#pragma once

#include "script/host/Frame.h"
#include <unordered_map>

/// Frames as matrices: the encodings of their columns, made from data or read from a frame of
/// metadata.
namespace headrace::script {

/// How one column becomes numbers.
struct ColumnEncoding {
  enum class Kind { Number, Recode, Bin, Hash };
  enum class Imputation { None, Mean, Mode, Constant };

  Kind kind = Kind::Number;
  bool dummy = false; ///< a column for every code, with a 1 in that of the cell
  bool omitsRows = false;
  Imputation imputation = Imputation::None;
  int64_t bins = 1;          ///< of Bin
  bool equalHeights = false; ///< of Bin: as many cells in each, instead of equal widths
  int64_t codes = 0;         ///< how many there are; of Hash given, else found
  FrameCell imputed;         ///< stands for a cell without a value

  std::vector<std::string> keys; ///< of Recode, by code
  std::unordered_map<std::string, int64_t> codeOf;
  std::vector<double> lower, upper; ///< of Bin

  void addKey(const std::string &key);
  /// The code from 1 on, or the number; NaN for a cell without a value or with an unknown key.
  double encode(const FrameColumn &column, int64_t row) const;
  int64_t width() const { return dummy ? codes : 1; }
};

class Transform {
public:
  /// From a specification in JSON, whose names need no quotes, for a frame with these columns.
  Transform(const std::string &specification, const std::vector<std::string> &names);

  /// Finds codes, bounds and means in the data.
  void fit(const Frame &frame);
  /// Reads them from metadata.
  void read(const Frame &metadata);
  Frame metadata() const;

  Matrix encode(const Frame &frame) const;
  Frame decode(const Matrix &matrix) const;
  /// Rows (column, its first and its last column in the matrix).
  Tensor columnMap() const;

private:
  int64_t width() const;
  std::vector<int64_t> keptRows(const Frame &frame) const;
  std::vector<std::string> names;
  std::vector<ColumnEncoding> columns;
};

/// Whether the cell has no value: none, an empty text, or NaN.
bool isMissing(const FrameColumn &column, int64_t row);
/// The cell as a key of a recode map.
std::string keyOf(const FrameColumn &column, int64_t row);

/// The encodings that a specification names, one for each column.
std::vector<ColumnEncoding> readSpecification(const std::string &text,
                                              const std::vector<std::string> &names);

} // namespace headrace::script
