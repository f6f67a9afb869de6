// Specifications of transformencode: JSON whose names need no quotes.
#include "runtime/system/Json.h"

#include "script/host/Transform.h"
#include "script/host/Value.h"
#include <algorithm>

namespace headrace::script {

[[noreturn]] static void refuse(const std::string &message) {
  throw Error(ErrorKind::InvalidArgument, "the specification of a transformation: " + message);
}

/// With quotes around words: {ids:true, method:equi-width}  ->  {"ids":true, "method":"equi-width"}
static std::string quoted(const std::string &text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    if (c == '"' || c == '\'') {
      size_t end = text.find(c, at + 1);
      if (end == text.npos)
        refuse("a quotation mark that is not closed");
      result += Json(text.substr(at + 1, end - at - 1))
                    .dump(-1, ' ', false, Json::error_handler_t::replace);
      at = end + 1;
    } else if (std::string_view("{}[]:, \t\r\n").find(c) != std::string_view::npos) {
      result += c;
      ++at;
    } else {
      size_t end = std::min(text.find_first_of("{}[]:, \t\r\n", at), text.size());
      std::string word = text.substr(at, end - at);
      bool plain = word == "true" || word == "false" || word == "null" || parseNumber(word);
      result += plain && word != "NaN" && word != "Infinity"
                    ? word
                    : Json(word).dump(-1, ' ', false, Json::error_handler_t::replace);
      at = end;
    }
  }
  return result;
}

namespace {

class Specification {
public:
  Specification(const std::string &text, const std::vector<std::string> &names)
      : names(names), columns(names.size()) {
    try {
      json = parseJson(quoted(text), "the specification");
    } catch (const JsonFault &) {
      refuse("expected JSON, got \"" + text.substr(0, 80) + "\"");
    }
    if (!json.is_object())
      refuse("expected an object in braces");
    auto ids = json.find("ids");
    byNumber = ids != json.end() && ids->is_boolean() && ids->get<bool>();
  }

  std::vector<ColumnEncoding> read() {
    using Kind = ColumnEncoding::Kind;
    for (const auto &[name, entry] : json.items())
      if (std::ranges::find(kKnown, name) == std::end(kKnown))
        refuse("'" + name + "' is understood but not executed yet");
    each("recode", [&](ColumnEncoding &column, const Json &) { claim(column, Kind::Recode); });
    each("hash", [&](ColumnEncoding &column, const Json &) {
      claim(column, Kind::Hash);
      column.codes = whole(json, "K", -1);
      if (column.codes < 1)
        refuse("expected 'K', the number of codes of 'hash'");
    });
    each("bin", [&](ColumnEncoding &column, const Json &entry) { readBins(column, entry); });
    each("dummycode", [&](ColumnEncoding &column, const Json &) {
      column.dummy = true;
      if (column.kind == Kind::Number)
        column.kind = Kind::Recode;
    });
    each("omit", [&](ColumnEncoding &column, const Json &) { column.omitsRows = true; });
    each("impute",
         [&](ColumnEncoding &column, const Json &entry) { readImputation(column, entry); });
    return std::move(columns);
  }

private:
  static constexpr std::string_view kKnown[] = {"ids", "K",         "recode", "hash",
                                                "bin", "dummycode", "omit",   "impute"};

  static int64_t whole(const Json &entry, const char *name, int64_t otherwise) {
    auto found = entry.find(name);
    if (found == entry.end())
      return otherwise;
    if (!found->is_number() || std::abs(found->get<double>()) > 1e9)
      refuse("expected a number for '" + std::string(name) + "'");
    return static_cast<int64_t>(found->get<double>());
  }

  void claim(ColumnEncoding &column, ColumnEncoding::Kind kind) {
    if (column.kind != ColumnEncoding::Kind::Number && column.kind != kind)
      refuse("expected one of recode, bin and hash for a column");
    column.kind = kind;
  }

  /// A number or a name; null for a column that the frame does not have.
  ColumnEncoding *columnOf(const Json &id) {
    if (byNumber) {
      if (!id.is_number())
        refuse("expected numbers of columns, got " + id.dump());
      double number = id.get<double>();
      if (!(number >= 1))
        refuse("expected numbers of columns from 1, got " + id.dump());
      return number <= static_cast<double>(columns.size())
                 ? &columns[static_cast<size_t>(number) - 1]
                 : nullptr;
    }
    std::string name = id.is_string() ? id.get<std::string>() : id.dump();
    auto found = std::ranges::find(names, name);
    if (found == names.end())
      refuse("the frame has no column '" + name + "'");
    return &columns[found - names.begin()];
  }

  template <class Visit> void each(const char *name, Visit visit) {
    auto found = json.find(name);
    if (found == json.end())
      return;
    if (!found->is_array())
      refuse("expected a list for '" + std::string(name) + "'");
    for (const Json &entry : *found) {
      bool described = entry.is_object();
      auto key = described ? entry.find(entry.contains("id") ? "id" : "name") : entry.end();
      if (described && key == entry.end())
        refuse("expected an 'id' in the entries of '" + std::string(name) + "'");
      if (ColumnEncoding *column = columnOf(described ? *key : entry))
        visit(*column, entry);
    }
  }

  static std::string text(const Json &entry, const char *name) {
    auto found = entry.is_object() ? entry.find(name) : entry.end();
    if (!entry.is_object() || found == entry.end())
      return "";
    return found->is_string() ? found->get<std::string>() : found->dump();
  }

  void readBins(ColumnEncoding &column, const Json &entry) {
    claim(column, ColumnEncoding::Kind::Bin);
    std::string method = text(entry, "method");
    column.equalHeights = method == "equi-height";
    if (!column.equalHeights && method != "equi-width")
      refuse("expected the method equi-width or equi-height of 'bin', got \"" + method + "\"");
    column.bins = whole(entry, "numbins", 1);
    if (column.bins < 1)
      refuse("expected 1 bin or more");
  }

  void readImputation(ColumnEncoding &column, const Json &entry) {
    using Imputation = ColumnEncoding::Imputation;
    std::string method = text(entry, "method");
    if (method == "global_mean")
      column.imputation = Imputation::Mean;
    else if (method == "global_mode")
      column.imputation = Imputation::Mode;
    else if (method == "constant")
      column.imputation = Imputation::Constant;
    else
      refuse("expected the method global_mean, global_mode or constant of 'impute', got \"" +
             method + "\"");
    if (column.imputation == Imputation::Constant)
      column.imputed = text(entry, "value");
  }

  Json json;
  const std::vector<std::string> &names;
  std::vector<ColumnEncoding> columns;
  bool byNumber = false;
};

} // namespace

std::vector<ColumnEncoding> readSpecification(const std::string &text,
                                              const std::vector<std::string> &names) {
  return Specification(text, names).read();
}

} // namespace headrace::script
