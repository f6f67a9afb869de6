#pragma once

#include "runtime/matrix/Matrix.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Tables of texts and numbers, a type for each column.
namespace headrace::script {

/// From the narrowest to the widest: two columns that are joined have the wider type.
enum class ColumnType : uint8_t { Boolean, Int32, Int64, Fp32, Fp64, Character, String };

std::string_view nameOf(ColumnType type);
/// Nothing for a name that is not a type's; "DOUBLE", "INT" and "STRING" are accepted as well.
std::optional<ColumnType> columnTypeNamed(std::string_view name);
inline bool isNumeric(ColumnType type) { return type <= ColumnType::Fp64; }

/// Nothing: the cell has no value.
using FrameCell = std::optional<std::string>;

struct FrameColumn {
  std::string name;
  ColumnType type = ColumnType::String;
  std::vector<FrameCell> cells; ///< as the type writes them: TRUE, 12, 1.5
  FrameCell imputed = {};       ///< in metadata: stands for cells without a value
};

struct Frame {
  int64_t rows = 0;
  std::vector<FrameColumn> columns;

  int64_t cols() const { return std::ssize(columns); }
};
using FramePtr = std::shared_ptr<const Frame>;

/// The name of a column that has none: C1, C2, ...
std::string defaultColumnName(int64_t column);

/// Columns of a matrix with the narrowest types that hold them.
Frame frameOf(const Matrix &matrix);
/// The numbers of a frame; cells without a value are NaN. Throws Error for other texts.
Tensor matrixOf(const Frame &frame);
/// The number of a cell: TRUE is 1, a cell without a value NaN. Throws Error for other texts.
double numberOf(const FrameCell &cell);

/// The cells as another type writes them. Throws Error if they have no such value.
FrameColumn converted(const FrameColumn &column, ColumnType type);

/// The narrowest type of a text, and of a column's texts: as SystemDS detects them.
ColumnType typeOf(std::string_view text);
ColumnType widerType(ColumnType a, ColumnType b);

struct FrameTextOptions {
  int64_t rows = 100, cols = 100; ///< at most
  int decimals = 3;
  std::string separator = " ", lineSeparator = "\n";
};
std::string frameText(const Frame &frame, const FrameTextOptions &options = {});

} // namespace headrace::script
