#include "runtime/matrix/FileDescription.h"

#include "runtime/matrix/FileText.h"
#include "runtime/matrix/Number.h"
#include "runtime/system/Error.h"
#include "runtime/system/JsonNesting.h"

#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

namespace headrace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

template <class Value> struct Name {
  const char *name;
  Value value;
};
// The first name of a value is the one written.
constexpr Name<FileFormat> formatNames[] = {
    {"csv", FileFormat::Csv},       {"text", FileFormat::Text}, {"mm", FileFormat::MatrixMarket},
    {"libsvm", FileFormat::LibSvm}, {"npy", FileFormat::Npy},   {"binary", FileFormat::Binary}};
constexpr Name<FileContent> contentNames[] = {{"matrix", FileContent::Matrix},
                                              {"scalar", FileContent::Scalar},
                                              {"frame", FileContent::Frame}};
constexpr Name<FileValue> valueNames[] = {
    {"double", FileValue::Double}, {"int", FileValue::Integer},    {"boolean", FileValue::Boolean},
    {"string", FileValue::String}, {"fp64", FileValue::Double},    {"fp32", FileValue::Double},
    {"int64", FileValue::Integer}, {"int32", FileValue::Integer},  {"integer", FileValue::Integer},
    {"bool", FileValue::Boolean},  {"unknown", FileValue::String},
};

template <class Value, size_t n> const char *nameIn(const Name<Value> (&names)[n], Value value) {
  for (const auto &entry : names)
    if (entry.value == value)
      return entry.name;
  throw InternalError("a value of a file's description without a name");
}

/// The entries of one metadata file, each with its own check.
class Metadata {
public:
  explicit Metadata(const fs::path &path) : file(path) {
    constexpr size_t longest = size_t{1} << 20;
    if (file.text().size() > longest)
      file.fail("expected at most 1 MB of metadata");
    std::string_view text = file.text();
    if (isNestedBeyond(text, maxJsonNesting))
      file.fail("expected JSON of at most " + std::to_string(maxJsonNesting) + " levels");
    try {
      entries = Json::parse(text);
    } catch (const Json::parse_error &error) {
      file.fail(text.substr(std::min(error.byte, text.size())), "expected JSON");
    }
    if (!entries.is_object())
      file.fail("expected a JSON object, { \"data_type\": ... }");
  }

  /// An integer of 0 or more; -1 says that it is unknown.
  std::optional<int64_t> size(const char *key) const {
    const Json *entry = find(key);
    if (!entry)
      return std::nullopt;
    std::optional<int64_t> number = wholeNumber(*entry);
    if (!number || *number < -1)
      wrong(key, "an integer of 0 or more", *entry);
    return *number == -1 ? std::nullopt : number;
  }

  std::optional<bool> flag(const char *key) const {
    const Json *entry = find(key);
    if (!entry)
      return std::nullopt;
    if (entry->is_boolean())
      return entry->get<bool>();
    std::string text = entry->is_string() ? entry->get<std::string>() : "";
    if (text != "true" && text != "TRUE" && text != "false" && text != "FALSE")
      wrong(key, "true or false", *entry);
    return text == "true" || text == "TRUE";
  }

  std::optional<std::string> text(const char *key) const {
    const Json *entry = find(key);
    if (!entry)
      return std::nullopt;
    if (!entry->is_string())
      wrong(key, "a text", *entry);
    return entry->get<std::string>();
  }

  std::optional<double> number(const char *key) const {
    const Json *entry = find(key);
    if (!entry)
      return std::nullopt;
    if (!entry->is_number())
      wrong(key, "a number", *entry);
    return entry->get<double>();
  }

  template <class Value, size_t n>
  std::optional<Value> oneOf(const char *key, const Name<Value> (&names)[n]) const {
    std::optional<std::string> found = text(key);
    if (!found)
      return std::nullopt;
    std::string known;
    for (const auto &entry : names) {
      if (*found == entry.name)
        return entry.value;
      known += (known.empty() ? "" : ", ") + std::string(entry.name);
    }
    throw Error(ErrorKind::Unsupported, file.name() + ": '" + key + "': expected one of " + known +
                                            ", got " + inQuotes(*found));
  }

  std::optional<char> separator() const {
    std::optional<std::string> found = text("sep");
    if (!found)
      return std::nullopt;
    if (found->size() != 1)
      throw Error(ErrorKind::Unsupported,
                  file.name() + ": 'sep': expected one character, got " + inQuotes(*found));
    return found->front();
  }

  /// One text, or several in a list.
  std::optional<std::vector<std::string>> texts(const char *key) const {
    const Json *entry = find(key);
    if (!entry)
      return std::nullopt;
    std::vector<std::string> texts;
    for (const Json &element : entry->is_array() ? *entry : Json::array({*entry})) {
      if (!element.is_string())
        wrong(key, "a list of texts", *entry);
      texts.push_back(element.get<std::string>());
    }
    return texts;
  }

private:
  const Json *find(const char *key) const {
    auto found = entries.find(key);
    return found == entries.end() || found->is_null() ? nullptr : &*found;
  }

  static std::optional<int64_t> wholeNumber(const Json &entry) {
    if (entry.is_number_unsigned() &&
        entry.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return std::nullopt;
    if (entry.is_number_integer())
      return entry.get<int64_t>();
    if (!entry.is_string()) // some writers put numbers in quotes
      return std::nullopt;
    return wholeNumberOf(entry.get_ref<const std::string &>());
  }

  [[noreturn]] void wrong(const char *key, const char *expected, const Json &found) const {
    file.fail(std::string("'") + key + "': expected " + expected + ", got " +
              inQuotes(found.dump(-1, ' ', true, Json::error_handler_t::replace)));
  }

  FileText file;
  Json entries;
};

template <class Value> void take(std::optional<Value> &target, const std::optional<Value> &source) {
  if (!target)
    target = source;
}

} // namespace

std::optional<FileValue> fileValueNamed(const std::string &name) {
  for (const auto &[known, value] : valueNames)
    if (name == known)
      return value;
  return std::nullopt;
}

fs::path metadataPath(const fs::path &path) { return path.string() + ".mtd"; }

std::optional<FileFormat> formatByName(const fs::path &path) {
  if (path.extension() == ".csv")
    return FileFormat::Csv;
  if (path.extension() == ".mtx")
    return FileFormat::MatrixMarket;
  if (path.extension() == ".libsvm" || path.extension() == ".svm")
    return FileFormat::LibSvm;
  if (path.extension() == ".npy")
    return FileFormat::Npy;
  return std::nullopt;
}

void checkSeparator(char separator, const std::string &file) {
  if (std::isalnum(static_cast<unsigned char>(separator)) ||
      std::string_view(".+-\"\r\n").find(separator) != std::string_view::npos)
    throw Error(ErrorKind::InvalidArgument, file +
                                                ": expected a separator that no number contains, "
                                                "got " +
                                                inQuotes({&separator, 1}));
}

FileDescription readMetadata(const fs::path &path) {
  Metadata metadata(path);
  FileDescription description;
  description.content = metadata.oneOf("data_type", contentNames);
  description.value = metadata.oneOf("value_type", valueNames);
  description.format = metadata.oneOf("format", formatNames);
  description.rows = metadata.size("rows");
  description.cols = metadata.size("cols");
  description.nonzeros = metadata.size("nnz");
  description.blockRows = metadata.size("rows_in_block");
  description.blockCols = metadata.size("cols_in_block");
  description.header = metadata.flag("header");
  description.separator = metadata.separator();
  description.fill = metadata.flag("fill");
  description.fillValue = metadata.number("default");
  description.missing = metadata.texts("naStrings");
  description.schema = metadata.texts("schema");
  return description;
}

std::string metadataText(const FileDescription &description) {
  Json entries;
  entries["data_type"] = nameIn(contentNames, description.content.value_or(FileContent::Matrix));
  entries["value_type"] = nameIn(valueNames, description.value.value_or(FileValue::Double));
  auto put = [&](const char *key, const auto &value) {
    if (value)
      entries[key] = *value;
  };
  put("rows", description.rows);
  put("cols", description.cols);
  put("rows_in_block", description.blockRows);
  put("cols_in_block", description.blockCols);
  put("nnz", description.nonzeros);
  if (description.format)
    entries["format"] = nameIn(formatNames, *description.format);
  put("header", description.header);
  if (description.schema)
    entries["schema"] = *description.schema;
  if (description.separator)
    entries["sep"] = std::string(1, *description.separator);
  return entries.dump(4) + "\n";
}

FileDescription describeFile(const fs::path &path, const FileDescription &said) {
  FileDescription description = said;
  std::error_code error;
  bool hasMetadata = fs::exists(metadataPath(path), error);
  if (hasMetadata) {
    FileDescription metadata = readMetadata(metadataPath(path));
    take(description.content, metadata.content);
    take(description.value, metadata.value);
    take(description.format, metadata.format);
    take(description.rows, metadata.rows);
    take(description.cols, metadata.cols);
    take(description.nonzeros, metadata.nonzeros);
    take(description.blockRows, metadata.blockRows);
    take(description.blockCols, metadata.blockCols);
    take(description.header, metadata.header);
    take(description.separator, metadata.separator);
    take(description.fill, metadata.fill);
    take(description.fillValue, metadata.fillValue);
    take(description.missing, metadata.missing);
    take(description.schema, metadata.schema);
  }
  take<FileContent>(description.content, FileContent::Matrix);
  if (description.format || description.content == FileContent::Scalar)
    return description;
  description.format = formatByName(path);
  if (!description.format && FileText(path).text().starts_with("%%MatrixMarket"))
    description.format = FileFormat::MatrixMarket;
  if (!description.format && FileText(path).text().starts_with("SEQ\x06"))
    description.format = FileFormat::Binary;
  if (!description.format)
    throw Error(ErrorKind::InvalidFile,
                path.string() + ": expected its format as an argument, or in " +
                    (hasMetadata ? "'format' in " : "") + metadataPath(path).filename().string());
  return description;
}

} // namespace headrace
