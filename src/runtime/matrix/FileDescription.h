#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// The format of a matrix file.
enum class FileFormat {
  Csv,
  Text,         ///< lines `row column value`, 1-based; other cells are 0
  MatrixMarket, ///< names its kind and sizes itself
  LibSvm,       ///< lines `label column:value ...`, 1-based; the label is the last column
  Npy,          ///< a NumPy file
  Binary        ///< SystemDS's binary blocks
};
/// What a file holds.
enum class FileContent { Matrix, Scalar, Frame };
/// The type of a file's values.
enum class FileValue { Double, Integer, Boolean, String };

/// Metadata of a data file: from the JSON `file.mtd` next to it, or from the call that reads it. A
/// missing entry is found in the file, or has the default named here.
struct FileDescription {
  std::optional<FileContent> content; ///< a matrix
  std::optional<FileValue> value;     ///< doubles
  std::optional<FileFormat> format;
  std::optional<int64_t> rows, cols, nonzeros;
  std::optional<int64_t> blockRows, blockCols; ///< of binary blocks; 1000

  // Of csv files.
  std::optional<bool> header;      ///< whether the first line holds names; false
  std::optional<char> separator;   ///< a comma
  std::optional<bool> fill;        ///< whether fields may be empty; true if `fillValue` is given
  std::optional<double> fillValue; ///< what an empty field stands for; 0
  std::optional<std::vector<std::string>> missing; ///< texts that stand for NaN; none

  // Of frames.
  std::optional<std::vector<std::string>> schema; ///< the types of columns; strings
};

/// The type of values that metadata and scripts call so: double, int, boolean, string and others;
/// nothing for other names.
std::optional<FileValue> fileValueNamed(const std::string &name);

/// "file.mtd" of "file".
std::filesystem::path metadataPath(const std::filesystem::path &path);

/// Throws Error unless the file is a JSON object with the entries SystemDS writes; sizes of -1 are
/// unknown ones, entries it does not know are skipped.
FileDescription readMetadata(const std::filesystem::path &path);

/// The JSON that readMetadata reads.
std::string metadataText(const FileDescription &description);

/// The format by the extension alone: .csv, .mtx, .libsvm, .svm and .npy.
std::optional<FileFormat> formatByName(const std::filesystem::path &path);

/// Throws Error, naming `file`, for a separator that numbers or lines contain.
void checkSeparator(char separator, const std::string &file);

/// All that can be known of a data file without reading its cells: from `said`, else from its
/// metadata, else from its first line (MatrixMarket) or its name. Throws Error when that leaves its
/// format open.
FileDescription describeFile(const std::filesystem::path &path, const FileDescription &said = {});

} // namespace headrace
