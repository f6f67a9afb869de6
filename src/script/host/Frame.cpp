#include "script/host/Frame.h"

#include "script/host/MatrixText.h"
#include "script/host/Value.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace headrace::script {

static constexpr std::array<std::string_view, 7> kNames = {"BOOLEAN", "INT32",     "INT64", "FP32",
                                                           "FP64",    "CHARACTER", "STRING"};

std::string_view nameOf(ColumnType type) { return kNames[static_cast<size_t>(type)]; }

std::optional<ColumnType> columnTypeNamed(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == upper)
      return static_cast<ColumnType>(i);
  if (upper == "DOUBLE")
    return ColumnType::Fp64;
  if (upper == "INT" || upper == "INTEGER")
    return ColumnType::Int64;
  if (upper == "UINT8" || upper == "UINT4")
    return ColumnType::Int32;
  return std::nullopt;
}

std::string defaultColumnName(int64_t column) { return "C" + std::to_string(column + 1); }

// --- Types of texts ----------------------------------------------------------------------------

static bool isTruth(std::string_view text) {
  static constexpr std::array<std::string_view, 10> words = {
      "t", "T", "f", "F", "true", "True", "TRUE", "false", "False", "FALSE"};
  bool zeros = text.size() > 2 && (text[0] == '0' || text[0] == '1') && text[1] == '.' &&
               text.find_first_not_of('0', 2) == std::string_view::npos;
  return text == "0" || text == "1" || zeros || std::ranges::find(words, text) != words.end();
}

/// Digits with a sign, perhaps followed by a fraction of zeros.
static bool isInteger(std::string_view text) {
  std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  size_t dot = digits.find('.');
  std::string_view whole = digits.substr(0, dot);
  std::string_view rest = dot == digits.npos ? "" : digits.substr(dot + 1);
  return !whole.empty() && whole.find_first_not_of("0123456789") == whole.npos &&
         rest.find_first_not_of('0') == rest.npos;
}

static ColumnType realType(double value) {
  auto nearest = static_cast<float>(value);
  return std::isnan(value) || std::isinf(value) || floatText(nearest) == numberText(value)
             ? ColumnType::Fp32
             : ColumnType::Fp64;
}

ColumnType typeOf(std::string_view text) {
  if (isTruth(text))
    return ColumnType::Boolean;
  std::optional<double> number = parseNumber(text);
  if (number && isInteger(text) && std::fabs(*number) < 0x1p63)
    return std::fabs(*number) <= INT32_MAX ? ColumnType::Int32 : ColumnType::Int64;
  if (number)
    return text.size() <= 7 + text.starts_with('-') ? ColumnType::Fp32 : realType(*number);
  return text.size() == 1 ? ColumnType::Character : ColumnType::String;
}

ColumnType widerType(ColumnType a, ColumnType b) {
  ColumnType wide = std::max(a, b), narrow = std::min(a, b);
  if (wide == ColumnType::Character && narrow != wide)
    return ColumnType::String;
  // Not every such integer is a float.
  return wide == ColumnType::Fp32 && narrow == ColumnType::Int64 ? ColumnType::Fp64 : wide;
}

static ColumnType typeOf(double value, ColumnType least) {
  if (least == ColumnType::Boolean && (value == 0 || value == 1))
    return ColumnType::Boolean;
  bool whole = value == std::trunc(value);
  if (least <= ColumnType::Int32 && whole && std::fabs(value) <= INT32_MAX)
    return ColumnType::Int32;
  if (least <= ColumnType::Int64 && whole && std::fabs(value) < 0x1p63)
    return ColumnType::Int64;
  return least <= ColumnType::Fp32 ? realType(value) : ColumnType::Fp64;
}

// --- Conversions -------------------------------------------------------------------------------

static std::string numberAs(double value, ColumnType type) {
  if (type == ColumnType::Boolean)
    return value != 0 ? "TRUE" : "FALSE";
  bool whole = type == ColumnType::Int32 || type == ColumnType::Int64;
  if (!whole)
    return numberText(value);
  if (!(std::fabs(value) < 0x1p63))
    throw Error(ErrorKind::TypeMismatch,
                "expected an integer in a column, got " + numberText(value));
  return std::to_string(static_cast<int64_t>(value));
}

double numberOf(const FrameCell &cell) {
  if (!cell || cell->empty())
    return std::nan("");
  if (isTruth(*cell) && !std::isdigit(static_cast<unsigned char>((*cell)[0])))
    return (*cell)[0] == 't' || (*cell)[0] == 'T';
  std::optional<double> number = parseNumber(*cell);
  if (!number)
    throw Error(ErrorKind::TypeMismatch, "expected a number in a frame, got \"" + *cell + "\"");
  return *number;
}

FrameColumn converted(const FrameColumn &column, ColumnType type) {
  FrameColumn result{column.name, type, column.cells};
  if (type == column.type)
    return result;
  for (FrameCell &cell : result.cells) {
    // Numbers cannot be missing.
    if (!cell && isNumeric(type))
      cell = "";
    if (!cell)
      continue;
    if (isNumeric(type) && cell->empty())
      cell = numberAs(0, type);
    else if (isNumeric(type))
      cell = numberAs(numberOf(cell), type);
    else if (column.type == ColumnType::Boolean)
      *cell = *cell == "TRUE" ? "true" : "false";
    if (type == ColumnType::Character && cell && cell->size() > 1)
      throw Error(ErrorKind::TypeMismatch,
                  "expected one character in a column, got \"" + *cell + "\"");
  }
  return result;
}

Frame frameOf(const Matrix &matrix) {
  Tensor dense = denseOf(matrix);
  int64_t rows = dense.shape()[0], cols = dense.shape()[1];
  Frame frame{rows, std::vector<FrameColumn>(static_cast<size_t>(cols))};
  for (int64_t j = 0; j < cols; ++j) {
    FrameColumn &column = frame.columns[j];
    column.name = defaultColumnName(j);
    column.type = ColumnType::Boolean;
    for (int64_t i = 0; i < rows; ++i)
      column.type = typeOf(dense.as<double>()[i * cols + j], column.type);
    for (int64_t i = 0; i < rows; ++i)
      column.cells.emplace_back(numberAs(dense.as<double>()[i * cols + j], column.type));
  }
  return frame;
}

Tensor matrixOf(const Frame &frame) {
  Tensor result = newMatrix(frame.rows, frame.cols());
  for (int64_t j = 0; j < frame.cols(); ++j)
    for (int64_t i = 0; i < frame.rows; ++i)
      result.as<double>()[i * frame.cols() + j] = numberOf(frame.columns[j].cells[i]);
  return result;
}

// --- Text --------------------------------------------------------------------------------------

static std::string shown(const FrameColumn &column, const FrameCell &cell, int decimals) {
  if (!cell)
    return "null";
  return column.type == ColumnType::Fp64 ? decimalText(numberOf(cell), decimals) : *cell;
}

std::string frameText(const Frame &frame, const FrameTextOptions &options) {
  std::string text = "# FRAME: nrow = " + std::to_string(frame.rows) +
                     ", ncol = " + std::to_string(frame.cols()) + options.lineSeparator;
  int64_t cols = std::min(frame.cols(), options.cols), rows = std::min(frame.rows, options.rows);
  auto line = [&](bool heading, auto cell) {
    text += heading ? "#" : "";
    for (int64_t j = 0; j < cols; ++j) {
      text += heading || j > 0 ? options.separator : "";
      text += cell(frame.columns[j]);
    }
    text += options.lineSeparator;
  };
  line(true, [](const FrameColumn &column) { return column.name; });
  line(true, [](const FrameColumn &column) { return std::string(nameOf(column.type)); });
  for (int64_t i = 0; i < rows; ++i)
    line(false, [&](const FrameColumn &column) {
      return shown(column, column.cells[i], options.decimals);
    });
  return text;
}

} // namespace headrace::script
