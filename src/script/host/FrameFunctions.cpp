// Frames: made, taken apart, joined, compared, described. Functions that matrices have, too, are
// called "frame." and their name.
#include "script/host/ColumnFunctions.h"
#include "script/host/Frame.h"
#include "script/host/HostFunctions.h"
#include "script/host/StringLambda.h"
#include "script/host/StringMethods.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

namespace {

Value valueOf(Frame frame) { return std::make_shared<const Frame>(std::move(frame)); }

const Frame &frameAt(const HostCall &call, size_t argument) {
  return call.arguments[argument].frame(call.name());
}

ColumnType typeOfScalar(const Value &value) {
  if (value.isString())
    return ColumnType::String;
  if (value.as<bool>())
    return ColumnType::Boolean;
  return value.as<int64_t>() ? ColumnType::Int64 : ColumnType::Fp64;
}

Frame oneCell(const Value &value) {
  return {1, {{defaultColumnName(0), typeOfScalar(value), {toText(value)}}}};
}

/// as.frame(x): of a matrix, a scalar, or a list of one of them
Value asFrame(HostCall &call) {
  const Value *x = &call.arguments[0];
  if (auto *list = x->as<std::shared_ptr<const List>>()) {
    if ((*list)->entries.size() != 1)
      call.fail("expected a list of 1, got " + describe(*x));
    x = &(*list)->entries[0].second;
  }
  if (x->as<FramePtr>())
    return *x;
  return valueOf(x->matrix() ? frameOf(*x->matrix()) : oneCell(*x));
}

// --- frame(data, rows, cols, schema) -----------------------------------------------------------

std::vector<ColumnType> schemaOf(const HostCall &call, const Value &schema, int64_t cols) {
  std::vector<std::string> names;
  if (auto *list = schema.as<std::shared_ptr<const List>>()) {
    for (const auto &[name, entry] : (*list)->entries)
      names.push_back(entry.text("a schema"));
  } else if (auto *frame = schema.as<FramePtr>()) {
    for (const FrameColumn &column : (*frame)->columns)
      names.push_back(column.cells.at(0).value_or("STRING"));
  } else {
    names.assign(static_cast<size_t>(cols), schema.empty() ? "STRING" : schema.text("a schema"));
  }
  if (std::ssize(names) != cols)
    call.fail("expected a schema of " + std::to_string(cols) + " types, got " +
              std::to_string(names.size()));
  std::vector<ColumnType> types;
  for (const std::string &name : names) {
    // What follows is whether there are cells without a value.
    auto type = columnTypeNamed(name.substr(0, name.find("\u00b7")));
    if (!type)
      call.fail("expected a type such as STRING, INT64, FP64 or BOOLEAN, got \"" + name + "\"");
    types.push_back(*type);
  }
  return types;
}

Value makeFrame(HostCall &call) {
  std::vector<std::string> texts;
  if (auto *list = call.arguments[0].as<std::shared_ptr<const List>>())
    for (const auto &[name, entry] : (*list)->entries)
      texts.push_back(toText(entry));
  else
    texts.push_back(toText(call.arguments[0]));
  int64_t rows = call.size(1, 1), cols = call.size(2, 1), count = std::ssize(texts);
  call.checkSize(static_cast<double>(rows), static_cast<double>(cols));
  if (count != 1 && count != cols && count != rows * cols)
    call.fail("expected 1, " + std::to_string(cols) + " or " + std::to_string(rows * cols) +
              " values, got " + std::to_string(count));
  std::vector<ColumnType> types = schemaOf(call, call.arguments[3], cols);
  Frame frame{rows, {}};
  for (int64_t j = 0; j < cols; ++j) {
    FrameColumn column{defaultColumnName(j), ColumnType::String, {}};
    for (int64_t i = 0; i < rows; ++i)
      column.cells.emplace_back(texts[(i * cols + j) % count]);
    frame.columns.push_back(converted(column, types[j]));
  }
  return valueOf(std::move(frame));
}

// --- Sizes and casts ---------------------------------------------------------------------------

Value rows(HostCall &call) { return frameAt(call, 0).rows; }
Value cols(HostCall &call) { return frameAt(call, 0).cols(); }
Value length(HostCall &call) { return frameAt(call, 0).rows * frameAt(call, 0).cols(); }
Value asMatrix(HostCall &call) { return inPreferredFormat(matrixOf(frameAt(call, 0))); }

/// A cell as the scalar that its column's type says.
Value scalarOf(const FrameColumn &column, const FrameCell &cell) {
  switch (column.type) {
  case ColumnType::Boolean:
    return numberOf(cell) != 0;
  case ColumnType::Int32:
  case ColumnType::Int64:
    return static_cast<int64_t>(numberOf(cell));
  case ColumnType::Fp32:
  case ColumnType::Fp64:
    return numberOf(cell);
  default:
    return cell.value_or("");
  }
}

Value asScalar(HostCall &call) {
  const Frame &frame = frameAt(call, 0);
  if (frame.rows != 1 || frame.cols() != 1)
    call.fail("expected a 1 x 1 frame, got " + describe(call.arguments[0]));
  return scalarOf(frame.columns[0], frame.columns[0].cells[0]);
}

/// toString(target, rows, cols, decimal, sparse, sep, linesep)
Value toString(HostCall &call) {
  FrameTextOptions options;
  options.rows = call.whole(1, options.rows);
  options.cols = call.whole(2, options.cols);
  options.decimals = static_cast<int>(std::clamp<int64_t>(call.whole(3, options.decimals), 0, 17));
  options.separator = call.text(5, options.separator);
  options.lineSeparator = call.text(6, options.lineSeparator);
  return frameText(frameAt(call, 0), options);
}

// --- Parts -------------------------------------------------------------------------------------

struct Part {
  int64_t begin, end; // half-open
};

/// From the arguments first and last, 1-based; all if they were not given.
Part partOf(const HostCall &call, size_t first, int64_t size, const char *what) {
  if (!call.given(first))
    return {0, size};
  int64_t begin = call.size(first, 1), end = call.size(first + 1, 1);
  if (begin < 1 || end > size || begin > end + 1)
    throw Error(ErrorKind::InvalidArgument, std::string(what) + " " + std::to_string(begin) + ":" +
                                                std::to_string(end) + " of a frame with " +
                                                std::to_string(size));
  return {begin - 1, end};
}

FrameColumn rowsOf(const FrameColumn &column, Part part) {
  return {column.name,
          column.type,
          {column.cells.begin() + part.begin, column.cells.begin() + part.end}};
}

/// (frame, first row, last row, first column, last column)
Value index(HostCall &call) {
  const Frame &frame = frameAt(call, 0);
  Part rows = partOf(call, 1, frame.rows, "rows"), cols = partOf(call, 3, frame.cols(), "columns");
  Frame part{rows.end - rows.begin, {}};
  for (int64_t j = cols.begin; j < cols.end; ++j)
    part.columns.push_back(rowsOf(frame.columns[j], rows));
  return valueOf(std::move(part));
}

/// The value of an assignment as a frame of these sizes; a scalar fills all cells.
Frame fitted(const Value &value, int64_t rows, int64_t cols) {
  Frame frame;
  if (auto *given = value.as<FramePtr>())
    frame = **given;
  else if (value.matrix())
    frame = frameOf(*value.matrix());
  else
    frame = {rows, std::vector<FrameColumn>(
                       static_cast<size_t>(cols),
                       {"", typeOfScalar(value),
                        std::vector<FrameCell>(static_cast<size_t>(rows), toText(value))})};
  if (frame.rows != rows || frame.cols() != cols)
    throw Error(ErrorKind::ShapeMismatch,
                "expected a value of " +
                    sizesText(static_cast<double>(rows), static_cast<double>(cols)) +
                    " for the index on the left, got " + describe(value));
  return frame;
}

/// (frame, value, first row, last row, first column, last column)
Value assignIndex(HostCall &call) {
  Frame frame = frameAt(call, 0);
  Part rows = partOf(call, 2, frame.rows, "rows"), cols = partOf(call, 4, frame.cols(), "columns");
  Frame value = fitted(call.arguments[1], rows.end - rows.begin, cols.end - cols.begin);
  bool whole = rows.begin == 0 && rows.end == frame.rows;
  for (int64_t j = cols.begin; j < cols.end; ++j) {
    FrameColumn &column = frame.columns[j];
    const FrameColumn &given = value.columns[j - cols.begin];
    // The cells of a whole column bring their type along.
    FrameColumn cells = converted(given, whole ? widerType(given.type, column.type) : column.type);
    column.type = cells.type;
    std::ranges::move(cells.cells, column.cells.begin() + rows.begin);
  }
  return valueOf(std::move(frame));
}

std::vector<Frame> partsOf(const HostCall &call) {
  std::vector<Frame> parts;
  for (const Value &argument : call.arguments) {
    if (auto *frame = argument.as<FramePtr>())
      parts.push_back(**frame);
    else if (argument.matrix())
      parts.push_back(frameOf(*argument.matrix()));
    else
      parts.push_back(oneCell(argument));
  }
  return parts;
}

/// Names that occur twice, or that are the default ones, are the default ones.
void nameColumns(Frame &frame) {
  for (int64_t j = 0; j < frame.cols(); ++j) {
    std::string &name = frame.columns[j].name;
    bool isDefault = name.size() > 1 && name[0] == 'C' &&
                     name.find_first_not_of("0123456789", 1) == std::string::npos;
    if (name.empty() || isDefault)
      name = defaultColumnName(j);
  }
}

Value bindColumns(HostCall &call) {
  std::vector<Frame> parts = partsOf(call);
  Frame result{parts[0].rows, {}};
  for (Frame &part : parts) {
    if (part.rows != result.rows)
      call.fail("frames of " + std::to_string(result.rows) + " and " + std::to_string(part.rows) +
                    " rows: expected equal rows",
                ErrorKind::ShapeMismatch);
    std::ranges::move(part.columns, std::back_inserter(result.columns));
  }
  nameColumns(result);
  return valueOf(std::move(result));
}

Value bindRows(HostCall &call) {
  std::vector<Frame> parts = partsOf(call);
  Frame result = std::move(parts[0]);
  for (size_t p = 1; p < parts.size(); ++p) {
    if (parts[p].cols() != result.cols())
      call.fail("frames of " + std::to_string(result.cols()) + " and " +
                    std::to_string(parts[p].cols()) + " columns: expected equal columns",
                ErrorKind::ShapeMismatch);
    for (int64_t j = 0; j < result.cols(); ++j) {
      FrameColumn &column = result.columns[j];
      ColumnType type = widerType(column.type, parts[p].columns[j].type);
      column = converted(column, type);
      std::ranges::move(converted(parts[p].columns[j], type).cells,
                        std::back_inserter(column.cells));
    }
    result.rows += parts[p].rows;
  }
  return valueOf(std::move(result));
}

bool isEmptyCell(const FrameCell &cell) { return !cell || cell->empty(); }

Frame keepRows(const Frame &frame, const std::vector<bool> &keep) {
  Frame result{std::ranges::count(keep, true), {}};
  for (const FrameColumn &column : frame.columns) {
    result.columns.push_back({column.name, column.type, {}});
    for (int64_t i = 0; i < frame.rows; ++i)
      if (keep[i])
        result.columns.back().cells.push_back(column.cells[i]);
  }
  return result;
}

/// removeEmpty(target, margin, select, empty.return)
Value removeEmpty(HostCall &call) {
  const Frame &frame = frameAt(call, 0);
  std::string margin = call.text(1, "rows");
  if (margin != "rows" && margin != "cols")
    call.fail("expected the margin \"rows\" or \"cols\", got \"" + margin + "\"");
  bool ofRows = margin == "rows";
  std::vector<bool> keep(static_cast<size_t>(ofRows ? frame.rows : frame.cols()), call.given(2));
  for (int64_t j = 0; j < frame.cols() && !call.given(2); ++j)
    for (int64_t i = 0; i < frame.rows; ++i)
      if (!isEmptyCell(frame.columns[j].cells[i]))
        keep[ofRows ? i : j] = true;
  if (call.given(2)) {
    Tensor select = call.dense(2);
    if (select.elements() != std::ssize(keep))
      call.fail("expected " + std::to_string(keep.size()) + " cells to select by, got " +
                    std::to_string(select.elements()),
                ErrorKind::ShapeMismatch);
    for (size_t i = 0; i < keep.size(); ++i)
      keep[i] = select.as<double>()[i] != 0;
  }
  if (ofRows)
    return valueOf(keepRows(frame, keep));
  Frame result{frame.rows, {}};
  for (int64_t j = 0; j < frame.cols(); ++j)
    if (keep[j])
      result.columns.push_back(frame.columns[j]);
  return valueOf(std::move(result));
}

// --- Cells -------------------------------------------------------------------------------------

/// replace(target, pattern, replacement)
Value replace(HostCall &call) {
  Frame frame = frameAt(call, 0);
  std::string pattern = toText(call.arguments[1]), replacement = toText(call.arguments[2]);
  for (FrameColumn &column : frame.columns)
    for (FrameCell &cell : column.cells)
      if (cell == pattern || (!cell && pattern == "NaN"))
        cell = replacement;
  return valueOf(std::move(frame));
}

bool isTrue(const std::string &op, const FrameCell &a, const FrameCell &b, bool numbers) {
  auto by = [&](const auto &x, const auto &y) {
    return op == "=="   ? x == y
           : op == "!=" ? x != y
           : op == "<"  ? x < y
           : op == "<=" ? x <= y
           : op == ">"  ? x > y
                        : x >= y;
  };
  return numbers ? by(numberOf(a), numberOf(b)) : by(a.value_or(""), b.value_or(""));
}

/// (frame, frame or scalar, operator)
Value compare(HostCall &call) {
  bool swapped = !call.arguments[0].as<FramePtr>();
  const Frame &shape = frameAt(call, swapped);
  Frame a = fitted(call.arguments[0], shape.rows, shape.cols());
  Frame b = fitted(call.arguments[1], shape.rows, shape.cols());
  std::string op = call.text(2, "==");
  Frame result{shape.rows, {}};
  for (int64_t j = 0; j < shape.cols(); ++j) {
    bool numbers = isNumeric(a.columns[j].type) && isNumeric(b.columns[j].type);
    FrameColumn column{shape.columns[j].name, ColumnType::Boolean, {}};
    for (int64_t i = 0; i < shape.rows; ++i)
      column.cells.emplace_back(
          isTrue(op, a.columns[j].cells[i], b.columns[j].cells[i], numbers) ? "TRUE" : "FALSE");
    result.columns.push_back(std::move(column));
  }
  return valueOf(std::move(result));
}

// --- map -----------------------------------------------------------------------------------------

using Item = StringLambda::Item;

/// Every pair of a column's cells.
Frame mappedPairs(const HostCall &call, const Frame &frame, const StringLambda &lambda) {
  if (frame.cols() != 1)
    call.fail("expected a frame of one column for a lambda of two parameters, got " +
              describe(call.arguments[0]));
  checkMatrixSize("map", static_cast<double>(frame.rows), static_cast<double>(frame.rows));
  const std::vector<FrameCell> &cells = frame.columns[0].cells;
  Frame result{frame.rows, {}};
  for (int64_t j = 0; j < frame.rows; ++j) {
    FrameColumn column{defaultColumnName(j), ColumnType::String, {}};
    for (int64_t i = 0; i < frame.rows; ++i) {
      std::array<Item, 2> pair{cells[i].value_or(""), cells[j].value_or("")};
      // Each pair once: SystemDS fills the upper triangle.
      column.cells.emplace_back(i < j ? textOf(lambda(pair)) : "0.0");
    }
    result.columns.push_back(std::move(column));
  }
  return result;
}

/// Every row, or every column, as one list of texts.
Frame mappedLines(const HostCall &call, const Frame &frame, const StringLambda &lambda,
                  bool ofRows) {
  Frame result = frame;
  for (FrameColumn &column : result.columns)
    column.type = ColumnType::String;
  int64_t lines = ofRows ? frame.rows : frame.cols(), length = ofRows ? frame.cols() : frame.rows;
  for (int64_t line = 0; line < lines; ++line) {
    auto cell = [&](int64_t at) -> FrameCell & {
      return ofRows ? result.columns[at].cells[line] : result.columns[line].cells[at];
    };
    StringLambda::Texts texts;
    for (int64_t at = 0; at < length; ++at)
      texts.push_back(cell(at).value_or(""));
    Item argument = texts, mapped = lambda({&argument, 1});
    auto *results = std::get_if<StringLambda::Texts>(&mapped);
    if (!results || std::ssize(*results) != length)
      call.fail("expected a lambda that returns " + std::to_string(length) + " texts");
    for (int64_t at = 0; at < length; ++at)
      cell(at) = (*results)[at];
  }
  return result;
}

Frame mappedCells(const Frame &frame, const StringLambda &lambda) {
  Frame result{frame.rows, {}};
  for (const FrameColumn &column : frame.columns) {
    result.columns.push_back({column.name, ColumnType::String, {}});
    for (const FrameCell &cell : column.cells) {
      Item argument = cell.value_or("");
      result.columns.back().cells.push_back(cell ? FrameCell(textOf(lambda({&argument, 1})))
                                                 : std::nullopt);
    }
  }
  return result;
}

/// "UtilFunctions.syntacticalPatternDiscovery(0.8,NA)": a function of the whole frame
Frame mappedFrame(const HostCall &call, const Frame &frame, const std::string &text) {
  size_t open = text.find('('), close = text.rfind(')');
  std::string name = text.substr(0, open);
  if (open == text.npos || close == text.npos || close < open)
    call.fail("expected '->', as in x -> x.trim(), got \"" + text + "\"");
  std::string arguments = text.substr(open + 1, close - open - 1);
  if (name == "UtilFunctions.syntacticalPatternDiscovery") {
    StringLambda::Texts parts = splitText(arguments, ",");
    auto threshold = parts.size() == 2 ? parseNumber(parts[0]) : std::nullopt;
    if (!threshold)
      call.fail("expected a threshold and a text, got \"" + arguments + "\"");
    return withoutDisguisedValues(frame, *threshold, parts[1]);
  }
  if (name == "UtilFunctions.exponentialMovingAverageImputation") {
    StringLambda::Texts parts = splitText(arguments, ";");
    auto alpha = parts.size() == 6 ? parseNumber(parts[3]) : std::nullopt;
    auto beta = parts.size() == 6 ? parseNumber(parts[4]) : std::nullopt;
    if (!alpha || !beta || std::isnan(*alpha) || std::isnan(*beta))
      call.fail("expected iterations, a mode, a frequency and three factors, got \"" + arguments +
                "\"");
    if (parts[1] != "single" && parts[1] != "double")
      call.fail("smoothing with the mode \"" + parts[1] + "\" is not executed yet",
                ErrorKind::Unsupported);
    return smoothed(frame, {parts[1], *alpha, *beta});
  }
  call.fail("'" + name + "' is not a function of frames");
}

/// map(frame, "x -> ..."): every cell; with the margin 1 every row, with 2 every column.
/// map(column, "(x, y) -> ..."): every pair of its cells. A cell without a value stays one.
Value map(HostCall &call) {
  const Frame &frame = frameAt(call, 0);
  std::string text = call.arguments[1].text("map");
  if (text.find("->") == text.npos)
    return valueOf(mappedFrame(call, frame, text));
  StringLambda lambda(text);
  int64_t margin = call.whole(2, 0);
  if (lambda.parameters() == 2)
    return valueOf(mappedPairs(call, frame, lambda));
  if (lambda.parameters() != 1 || margin < 0 || margin > 2)
    call.fail("expected a lambda of a cell, or of two cells of a column, and a margin of 0, 1 or "
              "2");
  return valueOf(margin == 0 ? mappedCells(frame, lambda)
                             : mappedLines(call, frame, lambda, margin == 1));
}

} // namespace

const HostTable &frameFunctions() {
  static const HostTable table = {{"as.frame", asFrame},
                                  {"frame", makeFrame},
                                  {"map", map},
                                  {"frame.nrow", rows},
                                  {"frame.ncol", cols},
                                  {"frame.length", length},
                                  {"frame.as.matrix", asMatrix},
                                  {"frame.as.scalar", asScalar},
                                  {"frame.toString", toString},
                                  {"frame.index", index},
                                  {"frame.assignIndex", assignIndex},
                                  {"frame.cbind", bindColumns},
                                  {"frame.rbind", bindRows},
                                  {"frame.removeEmpty", removeEmpty},
                                  {"frame.replace", replace},
                                  {"frame.compare", compare}};
  return table;
}

} // namespace headrace::script
