// Functions that reach beyond numbers: output, files, casts, strings.
#include "runtime/matrix/MatrixFile.h"

#include "script/host/Format.h"
#include "script/host/FrameFile.h"
#include "script/host/HostFunctions.h"
#include "script/host/MatrixText.h"
#include <charconv>
#include <chrono>
#include <cmath>

namespace headrace::script {

namespace {

// --- Output and control ------------------------------------------------------------------------

Value print(HostCall &call) {
  call.context.print(
      call.arguments.size() == 1
          ? toText(call.arguments[0])
          : script::format(call.arguments[0].text("print"), std::span(call.arguments).subspan(1)));
  return {};
}

Value stop(HostCall &call) {
  throw Error(ErrorKind::InvalidArgument, "stopped: " + toText(call.arguments[0]));
}

Value assertTrue(HostCall &call) {
  if (!call.arguments[0].truth("assert"))
    throw Error(ErrorKind::InvalidArgument, "assertion failed");
  return {};
}

/// Nanoseconds; for differences.
Value time(HostCall &) {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return int64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// toString(target, rows, cols, decimal, sparse, sep, linesep)
Value toString(HostCall &call) {
  if (!call.arguments[0].matrix())
    return toText(call.arguments[0]);
  MatrixTextOptions options;
  options.rows = call.whole(1, options.rows);
  options.cols = call.whole(2, options.cols);
  options.decimals = static_cast<int>(std::clamp<int64_t>(call.whole(3, options.decimals), 0, 17));
  options.cells = call.truth(4, false);
  options.separator = call.text(5, options.separator);
  options.lineSeparator = call.text(6, options.lineSeparator);
  return matrixText(call.matrix(0), options);
}

Value concatenate(HostCall &call) { return toText(call.arguments[0]) + toText(call.arguments[1]); }

Value chooseText(HostCall &call) {
  return call.arguments[call.arguments[0].truth("ifelse") ? 1 : 2];
}

// --- Sizes and casts ---------------------------------------------------------------------------

Value rows(HostCall &call) {
  if (auto *list = call.arguments[0].as<std::shared_ptr<const List>>())
    return std::ssize((*list)->entries);
  return rowsOf(call.matrix(0));
}
Value cols(HostCall &call) { return colsOf(call.matrix(0)); }

Value length(HostCall &call) {
  const Value &x = call.arguments[0];
  if (auto *text = x.as<std::string>())
    return static_cast<int64_t>(text->size());
  if (x.as<std::shared_ptr<const List>>())
    return static_cast<int64_t>(x.list("length").entries.size());
  return rowsOf(call.matrix(0)) * colsOf(call.matrix(0));
}

double parsed(const HostCall &call, const Value &value) {
  auto *text = value.as<std::string>();
  if (!text)
    return value.number(call.name());
  auto number = parseNumber(*text);
  if (!number)
    call.fail("expected a number, got " + describe(value));
  return *number;
}

Value single(const HostCall &call) {
  const Value &x = call.arguments[0];
  if (!x.as<std::shared_ptr<const List>>())
    return x;
  const List &list = x.list(call.name());
  if (list.entries.size() != 1)
    call.fail("expected a list of 1, got " + describe(x));
  return list.entries[0].second;
}

Value asDouble(HostCall &call) { return parsed(call, single(call)); }

Value asInteger(HostCall &call) {
  Value x = single(call);
  return (x.isString() ? Value(parsed(call, x)) : x).truncated("as.integer");
}

Value asLogical(HostCall &call) {
  Value x = single(call);
  if (auto *text = x.as<std::string>())
    return isTrue(*text);
  return x.truth("as.logical");
}

Value asScalar(HostCall &call) {
  Value x = single(call);
  if (x.matrix())
    return x.number("as.scalar");
  return x;
}

Value asMatrix(HostCall &call) {
  // Numbers of a list become a column.
  if (auto *list = call.arguments[0].as<std::shared_ptr<const List>>();
      list && (*list)->entries.size() != 1) {
    const auto &entries = (*list)->entries;
    Tensor column = newMatrix(static_cast<int64_t>(entries.size()), 1);
    for (size_t i = 0; i < entries.size(); ++i)
      column.as<double>()[i] = entries[i].second.number("as.matrix of a list");
    return column;
  }
  Value x = single(call);
  if (x.matrix())
    return x;
  if (auto *frame = x.as<FramePtr>())
    return inPreferredFormat(matrixOf(**frame));
  return filled(parsed(call, x), 1, 1);
}

// --- Files -------------------------------------------------------------------------------------

std::filesystem::path pathOf(const HostCall &call, const std::string &name) {
  if (name.empty())
    call.fail("expected a file's name, got \"\"");
  std::filesystem::path path(name);
  return path.is_absolute() ? path : call.context.folder / path;
}

std::optional<FileFormat> formatOf(const HostCall &call, size_t argument) {
  if (!call.given(argument))
    return std::nullopt;
  std::string name = call.text(argument, "");
  if (name == "csv")
    return FileFormat::Csv;
  if (name == "text")
    return FileFormat::Text;
  if (name == "mm")
    return FileFormat::MatrixMarket;
  if (name == "libsvm")
    return FileFormat::LibSvm;
  if (name == "npy")
    return FileFormat::Npy;
  if (name == "binary")
    return FileFormat::Binary;
  call.fail("the format \"" + name +
                "\" is not read or written; expected csv, text, mm, libsvm, npy or binary",
            ErrorKind::Unsupported);
}

/// A text, or several in a list.
std::vector<std::string> textsOf(const Value &value, const char *what) {
  auto *list = value.as<std::shared_ptr<const List>>();
  if (!list)
    return {value.text(what)};
  std::vector<std::string> texts;
  for (const auto &[name, entry] : (*list)->entries)
    texts.push_back(entry.text(what));
  return texts;
}

/// "STRING,FP64", a list of types, or a frame's row of them
std::vector<std::string> schemaTexts(const Value &value) {
  std::vector<std::string> names;
  if (auto *frame = value.as<FramePtr>()) {
    for (const FrameColumn &column : (*frame)->columns)
      names.push_back(column.cells.at(0).value_or("STRING"));
    return names;
  }
  for (const std::string &text : textsOf(value, "a schema"))
    for (size_t at = 0; at <= text.size();) {
      size_t end = std::min(text.find(',', at), text.size());
      names.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  return names;
}

FileDescription descriptionOf(const HostCall &call) {
  FileDescription said;
  auto find = [&](const char *name) { return call.parameter(name); };
  said.format = formatOf(call, find("format"));
  for (auto [member, name] :
       {std::pair(&FileDescription::rows, "rows"), std::pair(&FileDescription::cols, "cols"),
        std::pair(&FileDescription::nonzeros, "nnz"),
        std::pair(&FileDescription::blockRows, "rows_in_block"),
        std::pair(&FileDescription::blockCols, "cols_in_block")})
    if (int64_t size = call.whole(find(name), -1); size >= 0)
      said.*member = size;
  if (call.given(find("header")))
    said.header = call.truth(find("header"), false);
  if (call.given(find("sep"))) {
    std::string separator = call.text(find("sep"), ",");
    if (separator.size() != 1)
      call.fail("expected one character as separator, got \"" + separator + "\"");
    said.separator = separator[0];
  }
  return said;
}

Value fromScalar(const Scalar &scalar) {
  return std::visit([](const auto &value) { return Value(value); }, scalar);
}

std::optional<FileValue> valueTypeOf(const HostCall &call) {
  size_t at = call.parameter("value_type");
  if (!call.given(at))
    return std::nullopt;
  std::string name = call.text(at, "");
  std::optional<FileValue> value = fileValueNamed(name);
  if (!value)
    call.fail("expected a value_type such as double, int, boolean or string, got \"" + name + "\"");
  return value;
}

Value read(HostCall &call) {
  std::filesystem::path path = pathOf(call, call.arguments[0].text("read"));
  FileDescription said = descriptionOf(call);
  for (const char *option : {"indSep", "dataset"})
    if (call.given(call.parameter(option)))
      call.fail("'" + std::string(option) + "' is understood but not executed yet",
                ErrorKind::Unsupported);
  said.value = valueTypeOf(call);
  if (size_t missing = call.parameter("naStrings"); call.given(missing))
    said.missing = textsOf(call.arguments[missing], "naStrings");
  std::string type = call.text(call.parameter("data_type"), "");
  if (type == "scalar")
    said.content = FileContent::Scalar;
  if (size_t fill = call.parameter("fill"); call.given(fill))
    said.fill = call.truth(fill, true);
  if (size_t value = call.parameter("default"); call.given(value))
    said.fillValue = call.number(value, 0);
  if (size_t schema = call.parameter("schema"); call.given(schema))
    said.schema = schemaTexts(call.arguments[schema]);
  std::optional<FileContent> content = type == "frame" ? FileContent::Frame : said.content;
  if (!content && std::filesystem::exists(metadataPath(path)))
    content = readMetadata(metadataPath(path)).content;
  if (content == FileContent::Scalar)
    return fromScalar(readScalar(path, said));
  if (content == FileContent::Frame)
    return std::make_shared<const Frame>(readFrame(path, said));
  if (said.schema)
    call.fail("'schema' applies to frames; expected data_type=\"frame\"");
  return readMatrix(path, said);
}

Value write(HostCall &call) {
  std::filesystem::path path = pathOf(call, call.arguments[1].text("write"));
  const Value &x = call.arguments[0];
  if (call.context.takeWritten)
    call.context.takeWritten(path, x);
  if (call.context.isTrial || call.context.takeWritten)
    return {};
  if (x.matrix()) {
    writeMatrix(path, *x.matrix(), descriptionOf(call));
    return {};
  }
  if (auto *frame = x.as<FramePtr>())
    writeFrame(path, **frame, descriptionOf(call));
  else if (auto *whole = x.as<int64_t>())
    writeScalar(path, *whole);
  else if (auto *truth = x.as<bool>())
    writeScalar(path, *truth);
  else if (auto *text = x.as<std::string>())
    writeScalar(path, *text);
  else
    writeScalar(path, x.number("write"));
  return {};
}

} // namespace

const HostTable &systemFunctions() {
  static const HostTable table = {{"print", print},
                                  {"stop", stop},
                                  {"assert", assertTrue},
                                  {"time", time},
                                  {"toString", toString},
                                  {"concatenate", concatenate},
                                  {"ifelse", chooseText},
                                  {"nrow", rows},
                                  {"ncol", cols},
                                  {"length", length},
                                  {"as.double", asDouble},
                                  {"as.integer", asInteger},
                                  {"as.logical", asLogical},
                                  {"as.scalar", asScalar},
                                  {"as.matrix", asMatrix},
                                  {"read", read},
                                  {"write", write}};
  return table;
}

} // namespace headrace::script
