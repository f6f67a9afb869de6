// Types and names of a frame's columns: detected, applied, and cells that do not fit them.
#include "script/host/Frame.h"
#include "script/host/HostFunctions.h"
#include <algorithm>

namespace headrace::script {

namespace {

Value valueOf(Frame frame) { return std::make_shared<const Frame>(std::move(frame)); }

/// A row of texts, one for each column.
template <class Text> Value rowOf(const Frame &frame, Text text) {
  Frame row{1, {}};
  for (int64_t j = 0; j < frame.cols(); ++j)
    row.columns.push_back({defaultColumnName(j), ColumnType::String, {text(frame.columns[j])}});
  return valueOf(std::move(row));
}

Value typeOfColumns(HostCall &call) {
  if (call.arguments[0].matrix()) {
    Frame types{1, {}};
    for (int64_t j = 0; j < colsOf(*call.arguments[0].matrix()); ++j)
      types.columns.push_back({defaultColumnName(j), ColumnType::String, {"FP64"}});
    return valueOf(std::move(types));
  }
  return rowOf(call.arguments[0].frame("typeof"),
               [](const FrameColumn &column) { return std::string(nameOf(column.type)); });
}

Value columnNames(HostCall &call) {
  return rowOf(call.arguments[0].frame("colnames"),
               [](const FrameColumn &column) { return column.name; });
}

/// The type, followed by "·n" if cells have no value.
std::string detected(const FrameColumn &column) {
  bool missing = false, any = false, words = false;
  ColumnType type = ColumnType::Boolean;
  for (const FrameCell &cell : column.cells) {
    if (!cell || cell->empty()) {
      missing = true;
      continue;
    }
    type = any ? widerType(type, typeOf(*cell)) : typeOf(*cell);
    any = true;
    words |= !parseNumber(*cell);
  }
  // Words such as "f" are truth values only among themselves.
  if (words && isNumeric(type) && type != ColumnType::Boolean)
    type = ColumnType::String;
  bool typed = isNumeric(column.type) && column.type != ColumnType::Boolean;
  std::string name(nameOf(typed ? column.type : any ? type : ColumnType::String));
  return missing ? name + "\u00b7n" : name;
}

Value detectSchema(HostCall &call) {
  return rowOf(call.arguments[0].frame("detectSchema"), detected);
}

/// The types that the schema's only row names, one for each column.
std::vector<ColumnType> schemaOf(const HostCall &call, int64_t cols) {
  const Frame &schema = call.arguments[1].frame(call.name());
  if (schema.rows != 1 || schema.cols() != cols)
    call.fail("expected a schema of 1 x " + std::to_string(cols) + ", got " +
                  describe(call.arguments[1]),
              ErrorKind::ShapeMismatch);
  std::vector<ColumnType> types;
  for (const FrameColumn &column : schema.columns) {
    std::string name = column.cells[0].value_or("");
    auto type = columnTypeNamed(name.substr(0, name.find("\u00b7")));
    if (!type)
      call.fail("expected a type such as STRING, INT64, FP64 or BOOLEAN, got \"" + name + "\"");
    types.push_back(*type);
  }
  return types;
}

Value applySchema(HostCall &call) {
  const Frame &frame = call.arguments[0].frame("applySchema");
  std::vector<ColumnType> types = schemaOf(call, frame.cols());
  Frame result{frame.rows, {}};
  for (int64_t j = 0; j < frame.cols(); ++j)
    result.columns.push_back(converted(frame.columns[j], types[j]));
  return valueOf(std::move(result));
}

/// Whether a text is a value of the type: every text is a string, every number a double.
bool fits(const std::string &text, ColumnType type) {
  if (!isNumeric(type))
    return true;
  ColumnType own = typeOf(text);
  return isNumeric(own) && (type >= ColumnType::Fp32 || own <= std::max(type, ColumnType::Int64));
}

/// dropInvalidType(x, schema): cells that are not of their column's type have no value.
Value dropInvalidType(HostCall &call) {
  Frame frame = call.arguments[0].frame("dropInvalidType");
  std::vector<ColumnType> types = schemaOf(call, frame.cols());
  for (int64_t j = 0; j < frame.cols(); ++j) {
    FrameColumn column = converted(frame.columns[j], ColumnType::String);
    for (FrameCell &cell : column.cells)
      if (cell && !fits(*cell, types[j]))
        cell = std::nullopt;
    frame.columns[j] = std::move(column);
  }
  return valueOf(std::move(frame));
}

/// dropInvalidLength(x, lengths): cells longer than their column allows have no value.
Value dropInvalidLength(HostCall &call) {
  Frame frame = call.arguments[0].frame("dropInvalidLength");
  Tensor lengths = call.arguments[1].as<FramePtr>()
                       ? matrixOf(call.arguments[1].frame("dropInvalidLength"))
                       : call.dense(1);
  if (lengths.elements() != frame.cols())
    call.fail("expected " + std::to_string(frame.cols()) + " lengths, got " +
                  std::to_string(lengths.elements()),
              ErrorKind::ShapeMismatch);
  for (int64_t j = 0; j < frame.cols(); ++j)
    for (FrameCell &cell : frame.columns[j].cells)
      if (double most = lengths.as<double>()[j];
          cell && most != -1 && static_cast<double>(cell->size()) > most)
        cell = std::nullopt;
  return valueOf(std::move(frame));
}

/// freplicate(frame, row): the frame with this row instead of each of its rows
Value replicate(HostCall &call) {
  Frame frame = call.arguments[0].frame("freplicate");
  const Frame &row = call.arguments[1].frame("freplicate");
  if (row.rows != 1 || row.cols() != frame.cols())
    call.fail("expected a row of " + std::to_string(frame.cols()) + " columns, got " +
                  describe(call.arguments[1]),
              ErrorKind::ShapeMismatch);
  for (int64_t j = 0; j < frame.cols(); ++j) {
    frame.columns[j].type = row.columns[j].type;
    std::ranges::fill(frame.columns[j].cells, row.columns[j].cells[0]);
  }
  return valueOf(std::move(frame));
}

} // namespace

const HostTable &schemaFunctions() {
  static const HostTable table = {{"typeof", typeOfColumns},
                                  {"colnames", columnNames},
                                  {"detectSchema", detectSchema},
                                  {"applySchema", applySchema},
                                  {"dropInvalidType", dropInvalidType},
                                  {"dropInvalidLength", dropInvalidLength},
                                  {"freplicate", replicate}};
  return table;
}

} // namespace headrace::script
