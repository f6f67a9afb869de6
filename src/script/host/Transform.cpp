#include "script/host/Transform.h"

#include "script/host/HashedOrder.h"
#include "script/host/Value.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

using Kind = ColumnEncoding::Kind;
using Imputation = ColumnEncoding::Imputation;

static constexpr std::string_view kSeparator = "\u00b7";

bool isMissing(const FrameColumn &column, int64_t row) {
  const FrameCell &cell = column.cells[row];
  return !cell || cell->empty() || *cell == "NaN";
}

std::string keyOf(const FrameColumn &column, int64_t row) {
  const std::string &cell = *column.cells[row];
  if (column.type == ColumnType::Boolean)
    return cell == "TRUE" ? "true" : "false";
  return cell;
}

// --- One column --------------------------------------------------------------------------------

void ColumnEncoding::addKey(const std::string &key) {
  if (codeOf.emplace(key, std::ssize(keys) + 1).second)
    keys.push_back(key);
  codes = std::ssize(keys);
}

static double codeOfKey(const ColumnEncoding &encoding, const std::string &key) {
  if (encoding.kind == Kind::Hash) {
    auto hash = static_cast<int32_t>(javaHash(std::string_view(key)));
    int64_t rest = hash % encoding.codes;
    return static_cast<double>((rest < 0 ? -rest : rest) + 1);
  }
  auto found = encoding.codeOf.find(key);
  return found == encoding.codeOf.end() ? std::nan("") : static_cast<double>(found->second);
}

static double binOf(const ColumnEncoding &encoding, double value) {
  if (std::isnan(value) || encoding.upper.empty())
    return std::nan("");
  auto at = std::ranges::lower_bound(encoding.upper, value) - encoding.upper.begin();
  return static_cast<double>(std::min<int64_t>(at + 1, std::ssize(encoding.upper)));
}

double ColumnEncoding::encode(const FrameColumn &column, int64_t row) const {
  bool missing = isMissing(column, row);
  if (missing && !imputed)
    return std::nan("");
  if (kind == Kind::Recode || kind == Kind::Hash)
    return codeOfKey(*this, missing ? *imputed : keyOf(column, row));
  double number = numberOf(missing ? imputed : column.cells[row]);
  return kind == Kind::Bin ? binOf(*this, number) : number;
}

static std::vector<double> numbersOf(const FrameColumn &column) {
  std::vector<double> numbers;
  for (size_t i = 0; i < column.cells.size(); ++i)
    if (!isMissing(column, static_cast<int64_t>(i)))
      numbers.push_back(numberOf(column.cells[i]));
  return numbers;
}

static void findBins(ColumnEncoding &encoding, const FrameColumn &column) {
  std::vector<double> numbers = numbersOf(column);
  if (numbers.empty())
    return;
  std::ranges::sort(numbers);
  double least = numbers.front(), most = numbers.back();
  int64_t bins = least == most && !encoding.equalHeights ? 1 : encoding.bins;
  auto count = std::ssize(numbers);
  for (int64_t bin = 1; bin <= bins; ++bin) {
    double bound = least + (most - least) / static_cast<double>(bins) * static_cast<double>(bin);
    if (encoding.equalHeights)
      bound = numbers[(count * bin + bins - 1) / bins - 1];
    if (bin == bins)
      bound = most;
    encoding.lower.push_back(encoding.upper.empty() ? least : encoding.upper.back());
    encoding.upper.push_back(bound);
  }
  encoding.codes = std::ssize(encoding.upper);
}

static void findImputed(ColumnEncoding &encoding, const FrameColumn &column) {
  if (encoding.imputation == Imputation::Mean) {
    std::vector<double> numbers = numbersOf(column);
    double sum = 0;
    for (double number : numbers)
      sum += number;
    encoding.imputed = numberText(sum / static_cast<double>(numbers.size()));
  } else if (encoding.imputation == Imputation::Mode) {
    std::unordered_map<std::string, int64_t> counts;
    int64_t most = 0;
    for (size_t i = 0; i < column.cells.size(); ++i) {
      if (isMissing(column, static_cast<int64_t>(i)))
        continue;
      std::string key = keyOf(column, static_cast<int64_t>(i));
      if (int64_t count = ++counts[key]; count > most) {
        most = count;
        encoding.imputed = key;
      }
    }
  }
}

// --- All columns -------------------------------------------------------------------------------

Transform::Transform(const std::string &specification, const std::vector<std::string> &names)
    : names(names), columns(readSpecification(specification, names)) {}

void Transform::fit(const Frame &frame) {
  for (size_t j = 0; j < columns.size(); ++j) {
    ColumnEncoding &encoding = columns[j];
    const FrameColumn &column = frame.columns[j];
    findImputed(encoding, column);
    if (encoding.kind == Kind::Bin)
      findBins(encoding, column);
    for (int64_t i = 0; encoding.kind == Kind::Recode && i < frame.rows; ++i)
      if (!isMissing(column, i))
        encoding.addKey(keyOf(column, i));
    if (encoding.kind == Kind::Recode && encoding.imputed &&
        encoding.imputation == Imputation::Constant)
      encoding.addKey(*encoding.imputed);
  }
}

/// "key·code" and "lower·upper"
static std::pair<std::string, std::string> partsOf(const std::string &entry) {
  size_t at = entry.rfind(kSeparator);
  if (at == entry.npos)
    throw Error(ErrorKind::InvalidArgument,
                "expected an entry such as \"key·1\" in the metadata, got \"" + entry + "\"");
  return {entry.substr(0, at), entry.substr(at + kSeparator.size())};
}

static void readEntries(ColumnEncoding &encoding, const FrameColumn &metadata) {
  for (size_t i = 0; i < metadata.cells.size(); ++i) {
    if (!metadata.cells[i] || metadata.cells[i]->empty())
      continue;
    const std::string &entry = *metadata.cells[i];
    if (encoding.kind == Kind::Hash) {
      encoding.codes = static_cast<int64_t>(numberOf(FrameCell(entry)));
      continue;
    }
    auto [first, second] = partsOf(entry);
    if (encoding.kind == Kind::Bin) {
      encoding.lower.push_back(numberOf(FrameCell(first)));
      encoding.upper.push_back(numberOf(FrameCell(second)));
    } else {
      double code = numberOf(FrameCell(second));
      if (!(code >= 1 && code <= 1e9))
        throw Error(ErrorKind::InvalidArgument,
                    "expected codes from 1 in the metadata, got \"" + entry + "\"");
      encoding.codeOf[first] = static_cast<int64_t>(code);
    }
  }
}

void Transform::read(const Frame &metadata) {
  if (metadata.cols() != std::ssize(columns))
    throw Error(ErrorKind::ShapeMismatch, "expected metadata of " + std::to_string(columns.size()) +
                                              " columns, got " + std::to_string(metadata.cols()));
  for (size_t j = 0; j < columns.size(); ++j) {
    ColumnEncoding &encoding = columns[j];
    if (encoding.imputation != Imputation::Constant)
      encoding.imputed = metadata.columns[j].imputed;
    if (encoding.kind == Kind::Number)
      continue;
    readEntries(encoding, metadata.columns[j]);
    if (encoding.kind == Kind::Bin)
      encoding.codes = std::ssize(encoding.upper);
    if (encoding.kind != Kind::Recode)
      continue;
    for (const auto &[key, code] : encoding.codeOf)
      encoding.codes = std::max(encoding.codes, code);
    if (encoding.codes > std::ssize(encoding.codeOf) + metadata.rows)
      throw Error(ErrorKind::InvalidArgument, "expected consecutive codes in the metadata");
    encoding.keys.resize(static_cast<size_t>(encoding.codes));
    for (const auto &[key, code] : encoding.codeOf)
      encoding.keys[code - 1] = key;
  }
}

static std::vector<std::string> entriesOf(const ColumnEncoding &encoding) {
  std::vector<std::string> entries;
  if (encoding.kind == Kind::Hash)
    entries.push_back(std::to_string(encoding.codes));
  for (size_t i = 0; i < encoding.upper.size(); ++i)
    entries.push_back(numberText(encoding.lower[i]) + std::string(kSeparator) +
                      numberText(encoding.upper[i]));
  std::vector<uint32_t> hashes;
  for (const std::string &key : encoding.keys)
    hashes.push_back(javaHash(std::string_view(key)));
  for (size_t at : HashedOrder()(hashes))
    entries.push_back(encoding.keys[at] + std::string(kSeparator) + std::to_string(at + 1));
  return entries;
}

Frame Transform::metadata() const {
  Frame frame;
  for (size_t j = 0; j < columns.size(); ++j) {
    FrameColumn column{names[j], ColumnType::String, {}};
    for (std::string &entry : entriesOf(columns[j]))
      column.cells.emplace_back(std::move(entry));
    column.imputed = columns[j].imputed;
    frame.rows = std::max(frame.rows, std::ssize(column.cells));
    frame.columns.push_back(std::move(column));
  }
  for (FrameColumn &column : frame.columns)
    column.cells.resize(static_cast<size_t>(frame.rows));
  return frame;
}

int64_t Transform::width() const {
  int64_t width = 0;
  for (const ColumnEncoding &encoding : columns)
    width += encoding.width();
  return width;
}

std::vector<int64_t> Transform::keptRows(const Frame &frame) const {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < frame.rows; ++i) {
    bool omitted = false;
    for (size_t j = 0; j < columns.size(); ++j)
      omitted |= columns[j].omitsRows && isMissing(frame.columns[j], i);
    if (!omitted)
      kept.push_back(i);
  }
  return kept;
}

Matrix Transform::encode(const Frame &frame) const {
  std::vector<int64_t> kept = keptRows(frame);
  std::vector<int64_t> rows, cols;
  std::vector<double> values;
  int64_t begin = 0;
  for (size_t j = 0; j < columns.size(); ++j) {
    const ColumnEncoding &encoding = columns[j];
    for (int64_t i = 0; i < std::ssize(kept); ++i) {
      double code = encoding.encode(frame.columns[j], kept[i]);
      if (encoding.dummy && std::isnan(code))
        continue;
      rows.push_back(i);
      cols.push_back(encoding.dummy ? begin + static_cast<int64_t>(code) - 1 : begin);
      values.push_back(encoding.dummy ? 1 : code);
    }
    begin += encoding.width();
  }
  return inPreferredFormat(CsrMatrix::fromCells(std::ssize(kept), width(), rows, cols, values));
}

/// The code in a row of the matrix: that of the column with the largest number, 0 if all are 0.
static double codeIn(const ColumnEncoding &encoding, const double *cells) {
  if (!encoding.dummy)
    return cells[0];
  auto end = cells + encoding.codes;
  auto most = std::max_element(cells, end);
  return most == end || *most == 0 ? 0 : static_cast<double>(most - cells + 1);
}

static FrameCell decoded(const ColumnEncoding &encoding, double code) {
  if (encoding.kind == Kind::Number || encoding.kind == Kind::Hash)
    return numberText(code);
  if (!(code >= 1 && code <= static_cast<double>(encoding.codes)))
    return std::nullopt;
  auto at = static_cast<size_t>(code) - 1;
  if (encoding.kind == Kind::Recode)
    return encoding.keys[at];
  return numberText(encoding.lower[at] + (encoding.upper[at] - encoding.lower[at]) / 2);
}

Frame Transform::decode(const Matrix &matrix) const {
  Tensor dense = denseOf(matrix);
  int64_t rows = dense.shape()[0], cols = dense.shape()[1];
  if (cols != width())
    throw Error(ErrorKind::ShapeMismatch, "expected a matrix of " + std::to_string(width()) +
                                              " columns, got " + std::to_string(cols));
  Frame frame{rows, {}};
  int64_t begin = 0;
  for (size_t j = 0; j < columns.size(); ++j) {
    const ColumnEncoding &encoding = columns[j];
    bool number = encoding.kind == Kind::Number;
    FrameColumn column{names[j], number ? ColumnType::Fp64 : ColumnType::String, {}};
    for (int64_t i = 0; i < rows; ++i)
      column.cells.push_back(
          decoded(encoding, codeIn(encoding, dense.as<double>() + i * cols + begin)));
    frame.columns.push_back(std::move(column));
    begin += encoding.width();
  }
  return frame;
}

Tensor Transform::columnMap() const {
  Tensor map = newMatrix(std::ssize(columns), 3);
  int64_t begin = 1;
  for (int64_t j = 0; j < std::ssize(columns); ++j) {
    double *row = map.as<double>() + 3 * j;
    row[0] = static_cast<double>(j + 1);
    row[1] = static_cast<double>(begin);
    begin += columns[j].width();
    row[2] = static_cast<double>(begin - 1);
  }
  return map;
}

} // namespace headrace::script
