// tokenize: texts of a frame as tokens, counted, hashed, or with their positions.
#include "runtime/system/Json.h"

#include "script/host/Frame.h"
#include "script/host/HashedOrder.h"
#include "script/host/HostFunctions.h"
#include "script/host/StringMethods.h"
#include <algorithm>
#include <map>

namespace headrace::script {

namespace {

struct Token {
  std::string text;
  int64_t position = 0; ///< of its first character in the document, from 0 on
};
using Tokens = std::vector<Token>;

class Tokenizer {
public:
  Tokenizer(const HostCall &call, const Frame &frame)
      : call(call), frame(frame), json(parsed(call.arguments[1].text("tokenize"))),
        most(call.whole(2, INT64_MAX)), algorithm(text(json, "algo", "split")),
        form(text(json, "out", "position")), wide(truth("format_wide")),
        pads(truth("apply_padding")), textColumn(column(json.value("tokenize_col", Json()))) {
    if (algorithm != "split" && algorithm != "ngram")
      call.fail("expected \"split\" or \"ngram\" as algo, got \"" + algorithm + "\"");
    if (form != "count" && form != "position" && form != "hash")
      call.fail("expected \"count\", \"position\" or \"hash\" as out, got \"" + form + "\"");
    if (wide && form == "count")
      call.fail("a wide format is not defined for out=count");
    if ((wide || pads) && most == INT64_MAX)
      call.fail("expected the argument 'max_tokens' for a wide or padded result");
    for (const Json &id : json.value("id_cols", Json::array()))
      idColumns.push_back(&column(id));
  }

  Frame run() {
    size_t keys = idColumns.size(), values = wide ? static_cast<size_t>(most) : 2;
    result.columns.resize(keys + values);
    for (size_t j = 0; j < result.columns.size(); ++j)
      result.columns[j] = {defaultColumnName(static_cast<int64_t>(j)), ColumnType::String, {}};
    for (size_t j = 0; j < values; ++j)
      if (form == "hash" || (!wide && j == (form == "count" ? 1U : 0U)))
        result.columns[keys + j].type = ColumnType::Int64;
    for (row = 0; row < frame.rows; ++row)
      (wide ? addWide(tokensOf(row)) : addLong(tokensOf(row)));
    return std::move(result);
  }

private:
  Json parsed(const std::string &specification) const {
    try {
      return parseJson(specification, "the specification");
    } catch (const JsonFault &) {
      call.fail("expected a specification in JSON, got \"" + specification.substr(0, 80) + "\"");
    }
  }
  std::string text(const Json &object, const char *name, const char *otherwise) const {
    auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
  }
  bool truth(const char *name) const {
    auto found = json.find(name);
    return found != json.end() && found->is_boolean() && found->get<bool>();
  }
  int64_t whole(const char *group, const char *name, int64_t otherwise) const {
    Json parameters = json.value(group, Json::object());
    return parameters.contains(name) && parameters[name].is_number_integer()
               ? parameters[name].get<int64_t>()
               : otherwise;
  }
  const FrameColumn &column(const Json &number) const {
    int64_t at = number.is_number_integer() ? number.get<int64_t>() : 0;
    if (at < 1 || at > frame.cols())
      call.fail("expected the number of a column from 1 to " + std::to_string(frame.cols()) +
                ", got " + number.dump());
    return frame.columns[static_cast<size_t>(at - 1)];
  }

  // --- Tokens ----------------------------------------------------------------------------------

  Tokens tokensOf(int64_t document) const {
    Tokens tokens;
    const FrameCell &cell = textColumn.cells[static_cast<size_t>(document)];
    if (!cell)
      return tokens;
    Json parameters = json.value("algo_params", Json::object());
    size_t at = 0;
    for (const std::string &part : splitText(*cell, text(parameters, "regex", "\\s+"))) {
      if (part.empty())
        continue;
      at = cell->find(part, at);
      tokens.push_back({part, static_cast<int64_t>(at)});
    }
    return algorithm == "ngram" ? grams(tokens, text(parameters, "ngram_type", "document"))
                                : tokens;
  }

  /// Runs of tokens, as SystemDS writes them: "('the', 'fox')"; or runs of a token's characters.
  Tokens grams(const Tokens &tokens, const std::string &type) const {
    int64_t least = whole("algo_params", "min_gram", 1);
    int64_t longest = whole("algo_params", "max_gram", 2);
    Tokens result;
    if (type == "document") {
      for (int64_t n = least; n <= longest; ++n)
        for (int64_t i = 0; i + n <= std::ssize(tokens); ++i) {
          Token gram = tokens[i];
          for (int64_t k = 1; k < n; ++k)
            gram.text += "', '" + tokens[i + k].text;
          if (n > 1)
            gram.text = "\"('" + gram.text + "')\"";
          result.push_back(std::move(gram));
        }
      return result;
    }
    for (const Token &token : tokens)
      for (int64_t n = least; n <= longest; ++n)
        for (int64_t i = 0; i + n <= std::ssize(token.text); ++i)
          result.push_back({token.text.substr(static_cast<size_t>(i), static_cast<size_t>(n)),
                            token.position + i});
    return result;
  }

  // --- Results ---------------------------------------------------------------------------------

  void add(std::initializer_list<std::string> values) {
    size_t j = 0;
    for (const FrameColumn *id : idColumns)
      result.columns[j++].cells.push_back(id->cells[static_cast<size_t>(row)]);
    for (const std::string &value : values)
      result.columns[j++].cells.emplace_back(value);
    ++result.rows;
  }

  /// A row per token.
  void addLong(const Tokens &tokens) {
    int64_t count = 0;
    auto more = [&] { return count++ < most; };
    if (form == "position") {
      for (const Token &token : tokens)
        if (more())
          add({std::to_string(token.position + 1), token.text});
    } else if (form == "count") {
      for (const auto &[token, times] : counted(tokens))
        if (more())
          add({token, std::to_string(times)});
    } else {
      for (const auto &[hash, times] : hashed(tokens))
        if (more())
          add({std::to_string(hash + 1), std::to_string(times)});
    }
    for (count = std::min(count, most); pads && count < most; ++count) {
      if (form == "position")
        add({"-1", ""});
      else
        add({form == "count" ? "" : "0", form == "count" ? "-1" : "0"});
    }
  }

  /// A row per document: its tokens, or how often each hash code occurs.
  void addWide(const Tokens &tokens) {
    add({});
    std::map<int64_t, int64_t> times;
    if (form == "hash")
      times = hashed(tokens);
    for (int64_t i = 0; i < most; ++i) {
      FrameCell cell;
      if (form == "hash")
        cell = std::to_string(times.contains(i) ? times[i] : 0);
      else if (i < std::ssize(tokens))
        cell = tokens[i].text;
      else if (pads)
        cell = "";
      result.columns[idColumns.size() + static_cast<size_t>(i)].cells.push_back(cell);
    }
  }

  /// Sorted by alphabet, or in the order in which SystemDS's table gives them.
  std::vector<std::pair<std::string, int64_t>> counted(const Tokens &tokens) const {
    std::map<std::string, int64_t> times;
    std::vector<std::string> order;
    for (const Token &token : tokens)
      if (++times[token.text] == 1)
        order.push_back(token.text);
    Json parameters = json.value("out_params", Json::object());
    std::vector<std::pair<std::string, int64_t>> result(times.begin(), times.end());
    if (parameters.value("sort_alpha", false))
      return result;
    result.clear();
    std::vector<uint32_t> hashes;
    for (const std::string &token : order)
      hashes.push_back(javaHash(std::string_view(token)));
    for (size_t at : HashedOrder()(hashes))
      result.emplace_back(order[at], times[order[at]]);
    return result;
  }

  std::map<int64_t, int64_t> hashed(const Tokens &tokens) const {
    int64_t features = whole("out_params", "num_features", 1 << 20);
    if (features < 1)
      call.fail("expected a num_features of 1 or more, got " + std::to_string(features));
    std::map<int64_t, int64_t> times;
    for (const Token &token : tokens) {
      auto hash = static_cast<int32_t>(javaHash(std::string_view(token.text)));
      ++times[(hash % features + features) % features];
    }
    return times;
  }

  const HostCall &call;
  const Frame &frame;
  Json json;
  int64_t most;
  std::string algorithm, form;
  bool wide, pads;
  const FrameColumn &textColumn;
  std::vector<const FrameColumn *> idColumns;
  Frame result;
  int64_t row = 0;
};

/// tokenize(target, spec, max_tokens)
Value tokenize(HostCall &call) {
  const Frame &frame = call.arguments[0].frame("tokenize");
  return std::make_shared<const Frame>(Tokenizer(call, frame).run());
}

} // namespace

const HostTable &tokenFunctions() {
  static const HostTable table = {{"tokenize", tokenize}};
  return table;
}

} // namespace headrace::script
