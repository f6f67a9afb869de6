#include "script/host/FrameFile.h"

#include "runtime/matrix/FileText.h"
#include "runtime/matrix/Number.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::script {

namespace {

/// The fields of a line; quotes within a quoted field are doubled.
std::vector<std::string> fieldsOf(const FileText &file, std::string_view line, char separator) {
  std::vector<std::string> fields;
  for (size_t at = 0; at <= line.size(); ++at) {
    std::string field;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size())
          file.fail(line, "expected a quotation mark that closes the field");
        if (line[at] != '"')
          field += line[at];
        else if (at + 1 < line.size() && line[at + 1] == '"')
          field += line[at++];
        else
          break;
      }
      ++at;
    } else {
      size_t end = std::min(line.find(separator, at), line.size());
      field = line.substr(at, end - at);
      at = end;
    }
    if (at < line.size() && line[at] != separator)
      file.fail(line.substr(at), "expected a separator behind a quoted field");
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string quoted(const std::string &field, char separator) {
  bool plain = field.find_first_of("\"\n\r") == field.npos && field.find(separator) == field.npos;
  if (plain)
    return field;
  std::string text = "\"";
  for (char c : field)
    text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

ColumnType typeNamed(const FileText &file, const std::string &name) {
  auto type = columnTypeNamed(name);
  if (!type)
    file.fail("expected a type such as STRING, INT64, FP64 or BOOLEAN in its schema, got " +
              inQuotes(name));
  return *type;
}

/// Missing numbers stay missing: they are NaN.
FrameColumn withType(const FrameColumn &column, ColumnType type) {
  FrameColumn result = converted(column, type);
  bool real = type == ColumnType::Fp32 || type == ColumnType::Fp64;
  for (size_t i = 0; real && i < column.cells.size(); ++i)
    if (!column.cells[i])
      result.cells[i] = std::nullopt;
  return result;
}

} // namespace

Frame readFrame(const std::filesystem::path &path, const FileDescription &said) {
  FileDescription with = said;
  with.content = FileContent::Frame;
  FileDescription description = describeFile(path, with);
  if (description.format != FileFormat::Csv)
    throw Error(ErrorKind::Unsupported, path.string() + ": expected csv for a frame");
  FileText file(path);
  std::string_view text = file.text();
  char separator = description.separator.value_or(',');
  std::vector<std::string> missing = description.missing.value_or(std::vector<std::string>{});
  Frame frame;
  auto addColumns = [&](const std::vector<std::string> &names) {
    for (const std::string &name : names)
      frame.columns.push_back({name, ColumnType::String, {}});
  };
  if (description.header.value_or(false) && !text.empty())
    addColumns(fieldsOf(file, takeLine(text), separator));
  while (!text.empty()) {
    std::string_view line = takeLine(text);
    std::vector<std::string> fields = fieldsOf(file, line, separator);
    for (size_t j = 0; frame.rows == 0 && frame.columns.empty() && j < fields.size(); ++j)
      frame.columns.push_back({defaultColumnName(static_cast<int64_t>(j)), ColumnType::String, {}});
    if (std::ssize(fields) != frame.cols())
      file.fail(line, "expected " + std::to_string(frame.cols()) + " fields, got " +
                          std::to_string(fields.size()));
    for (size_t j = 0; j < fields.size(); ++j) {
      bool none = fields[j].empty() || std::ranges::find(missing, fields[j]) != missing.end();
      frame.columns[j].cells.push_back(none ? FrameCell() : FrameCell(std::move(fields[j])));
    }
    ++frame.rows;
  }
  if (description.rows.value_or(frame.rows) != frame.rows ||
      description.cols.value_or(frame.cols()) != frame.cols())
    file.fail("expected a frame of " + std::to_string(description.rows.value_or(frame.rows)) +
              " x " + std::to_string(description.cols.value_or(frame.cols())) +
              " as declared, got " + std::to_string(frame.rows) + " x " +
              std::to_string(frame.cols()));
  if (description.schema) {
    const std::vector<std::string> &schema = *description.schema;
    if (schema.size() != 1 && std::ssize(schema) != frame.cols())
      file.fail("expected a schema of " + std::to_string(frame.cols()) + " types, got " +
                std::to_string(schema.size()));
    for (size_t j = 0; j < frame.columns.size(); ++j)
      frame.columns[j] =
          withType(frame.columns[j], typeNamed(file, schema[schema.size() == 1 ? 0 : j]));
  }
  return frame;
}

void writeFrame(const std::filesystem::path &path, const Frame &frame, const FileDescription &how) {
  FileDescription written;
  written.content = FileContent::Frame;
  written.value = FileValue::String;
  written.format = how.format ? how.format : FileFormat::Csv;
  if (written.format != FileFormat::Csv)
    throw Error(ErrorKind::Unsupported, path.string() + ": expected csv for a frame");
  written.rows = frame.rows;
  written.cols = frame.cols();
  written.header = how.header.value_or(false);
  written.separator = how.separator.value_or(',');
  checkSeparator(*written.separator, path.string());
  written.schema.emplace();
  std::string text;
  auto addLine = [&](auto field) {
    for (int64_t j = 0; j < frame.cols(); ++j)
      text += (j > 0 ? std::string(1, *written.separator) : "") +
              quoted(field(frame.columns[j]), *written.separator);
    text += '\n';
  };
  if (*written.header)
    addLine([](const FrameColumn &column) { return column.name; });
  for (const FrameColumn &column : frame.columns)
    written.schema->push_back(std::string(nameOf(column.type)));
  for (int64_t i = 0; i < frame.rows; ++i)
    addLine([&](const FrameColumn &column) { return column.cells[i].value_or(""); });
  AtomicFile file(path), metadata(metadataPath(path));
  file.write(text);
  metadata.write(metadataText(written));
  file.putInPlace();
  metadata.putInPlace();
}

} // namespace headrace::script
