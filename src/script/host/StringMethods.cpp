#include "script/host/StringMethods.h"

#include "script/host/HashedOrder.h"
#include "script/host/Stemmer.h"
#include "script/host/Value.h"
#include <algorithm>
#include <numeric>
#include <regex>
#include <set>
#include <unordered_map>
#include <utility>

namespace headrace::script {

[[noreturn]] static void refuse(const std::string &message) {
  throw Error(ErrorKind::InvalidArgument, "map: " + message);
}

std::string textOf(const LambdaItem &item) {
  if (auto *text = std::get_if<std::string>(&item))
    return *text;
  if (auto *whole = std::get_if<int64_t>(&item))
    return std::to_string(*whole);
  if (auto *real = std::get_if<double>(&item))
    return numberText(*real);
  if (auto *truth = std::get_if<bool>(&item))
    return *truth ? "true" : "false";
  refuse("expected a text, got several");
}

double numberOf(const LambdaItem &item) {
  if (auto *whole = std::get_if<int64_t>(&item))
    return static_cast<double>(*whole);
  if (auto *real = std::get_if<double>(&item))
    return *real;
  refuse("expected a number, got \"" + textOf(item) + "\"");
}

static int64_t wholeOf(const LambdaItem &item) {
  if (auto *whole = std::get_if<int64_t>(&item))
    return *whole;
  refuse("expected an integer, got \"" + textOf(item) + "\"");
}

// --- Regular expressions -----------------------------------------------------------------------

// std::regex recurses for every character that it matches.
static constexpr size_t kLongestText = 4000;

/// Java's classes of characters as ECMAScript writes them.
static std::string portable(std::string pattern) {
  static const std::pair<std::string_view, std::string_view> classes[] = {
      {"\\p{Alnum}", "a-zA-Z0-9"}, {"\\p{Alpha}", "a-zA-Z"},
      {"\\p{Digit}", "0-9"},       {"\\p{Punct}", "!-/:-@\\[-`{-~"},
      {"\\p{Space}", "\\s"},       {"\\p{Upper}", "A-Z"},
      {"\\p{Lower}", "a-z"}};
  for (const auto &[from, to] : classes)
    for (size_t at = 0; (at = pattern.find(from, at)) != pattern.npos;) {
      size_t open = pattern.rfind('[', at), close = pattern.rfind(']', at);
      bool within = open != pattern.npos && (close == pattern.npos || close < open);
      std::string text = within ? std::string(to) : "[" + std::string(to) + "]";
      pattern.replace(at, from.size(), text);
      at += text.size();
    }
  return pattern;
}

static const std::regex &regexOf(const std::string &pattern) {
  static thread_local std::unordered_map<std::string, std::regex> known;
  auto found = known.find(pattern);
  if (found != known.end())
    return found->second;
  if (pattern.size() > 200)
    refuse("expected a regular expression of at most 200 characters");
  try {
    if (known.size() > 100)
      known.clear();
    return known.emplace(pattern, std::regex(portable(pattern))).first->second;
  } catch (const std::regex_error &error) {
    refuse("the regular expression \"" + pattern + "\": " + error.what());
  }
}

/// Calls body, whose regular expression looks at the text.
template <class Body> static auto guarded(const std::string &text, Body body) {
  if (text.size() > kLongestText)
    throw Error(ErrorKind::Unsupported,
                "map: expected texts of at most " + std::to_string(kLongestText) +
                    " characters for regular expressions, got " + std::to_string(text.size()));
  try {
    return body();
  } catch (const std::regex_error &error) {
    refuse("a regular expression: " + std::string(error.what()));
  }
}

static std::string replacedBy(const std::string &text, const std::string &pattern,
                              const std::string &by, bool all) {
  const std::regex &regex = regexOf(pattern);
  auto flags = all ? std::regex_constants::format_default : std::regex_constants::format_first_only;
  return guarded(text, [&] { return std::regex_replace(text, regex, by, flags); });
}

StringLambda::Texts splitText(const std::string &text, const std::string &pattern) {
  const std::regex &regex = regexOf(pattern);
  StringLambda::Texts parts;
  guarded(text, [&] {
    size_t begin = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
      auto first = static_cast<size_t>(at->position());
      bool empty = at->length() == 0;
      if (empty && (first == 0 || first == text.size()))
        continue;
      if (first == 0 && begin == 0 && first + at->length() == 0)
        continue;
      parts.push_back(text.substr(begin, first - begin));
      begin = first + static_cast<size_t>(at->length());
    }
    parts.push_back(text.substr(begin));
    return true;
  });
  while (parts.size() > 1 && parts.back().empty())
    parts.pop_back();
  return parts;
}

// --- Methods -----------------------------------------------------------------------------------

static std::string mapped(std::string text, int (*function)(int)) {
  std::ranges::transform(text, text.begin(), [&](unsigned char c) { return function(c); });
  return text;
}

static std::string trimmed(const std::string &text) {
  size_t first = text.find_first_not_of(" \t\r\n\f\v");
  return first == text.npos ? ""
                            : text.substr(first, text.find_last_not_of(" \t\r\n\f\v") + 1 - first);
}

static std::string substring(const std::string &text, int64_t begin, int64_t end) {
  if (begin < 0 || end > std::ssize(text) || begin > end)
    refuse("characters " + std::to_string(begin) + " to " + std::to_string(end) + " of \"" + text +
           "\": expected positions within it");
  return text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

static std::string replacedText(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; !from.empty() && (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

using Items = std::span<const LambdaItem>;

struct Method {
  size_t least, most; ///< arguments
  LambdaItem (*function)(const std::string &, Items);
};

static int64_t indexOf(size_t position) {
  return position == std::string::npos ? -1 : static_cast<int64_t>(position);
}

static const std::unordered_map<std::string, Method> &methods() {
  using S = const std::string &;
  static const std::unordered_map<std::string, Method> table = {
      {"length", {0, 0, [](S s, Items) -> LambdaItem { return std::ssize(s); }}},
      {"isEmpty", {0, 0, [](S s, Items) -> LambdaItem { return s.empty(); }}},
      {"toLowerCase", {0, 0, [](S s, Items) -> LambdaItem { return mapped(s, std::tolower); }}},
      {"toUpperCase", {0, 0, [](S s, Items) -> LambdaItem { return mapped(s, std::toupper); }}},
      {"trim", {0, 0, [](S s, Items) -> LambdaItem { return trimmed(s); }}},
      {"strip", {0, 0, [](S s, Items) -> LambdaItem { return trimmed(s); }}},
      {"toString", {0, 0, [](S s, Items) -> LambdaItem { return s; }}},
      {"hashCode",
       {0, 0,
        [](S s, Items) -> LambdaItem {
          return static_cast<int64_t>(static_cast<int32_t>(javaHash(std::string_view(s))));
        }}},
      {"concat", {1, 1, [](S s, Items a) -> LambdaItem { return s + textOf(a[0]); }}},
      {"equals", {1, 1, [](S s, Items a) -> LambdaItem { return s == textOf(a[0]); }}},
      {"equalsIgnoreCase",
       {1, 1,
        [](S s, Items a) -> LambdaItem {
          return mapped(s, std::tolower) == mapped(textOf(a[0]), std::tolower);
        }}},
      {"contains",
       {1, 1, [](S s, Items a) -> LambdaItem { return s.find(textOf(a[0])) != s.npos; }}},
      {"startsWith",
       {1, 1, [](S s, Items a) -> LambdaItem { return s.starts_with(textOf(a[0])); }}},
      {"endsWith", {1, 1, [](S s, Items a) -> LambdaItem { return s.ends_with(textOf(a[0])); }}},
      {"indexOf", {1, 1, [](S s, Items a) -> LambdaItem { return indexOf(s.find(textOf(a[0]))); }}},
      {"lastIndexOf",
       {1, 1, [](S s, Items a) -> LambdaItem { return indexOf(s.rfind(textOf(a[0]))); }}},
      {"charAt",
       {1, 1,
        [](S s, Items a) -> LambdaItem { return substring(s, wholeOf(a[0]), wholeOf(a[0]) + 1); }}},
      {"substring",
       {1, 2,
        [](S s, Items a) -> LambdaItem {
          return substring(s, wholeOf(a[0]), a.size() > 1 ? wholeOf(a[1]) : std::ssize(s));
        }}},
      {"compareTo",
       {1, 1,
        [](S s, Items a) -> LambdaItem { return static_cast<int64_t>(s.compare(textOf(a[0]))); }}},
      {"replace",
       {2, 2,
        [](S s, Items a) -> LambdaItem { return replacedText(s, textOf(a[0]), textOf(a[1])); }}},
      {"replaceAll",
       {2, 2,
        [](S s, Items a) -> LambdaItem {
          return replacedBy(s, textOf(a[0]), textOf(a[1]), true);
        }}},
      {"replaceFirst",
       {2, 2,
        [](S s, Items a) -> LambdaItem {
          return replacedBy(s, textOf(a[0]), textOf(a[1]), false);
        }}},
      {"matches",
       {1, 1,
        [](S s, Items a) -> LambdaItem {
          const std::regex &regex = regexOf(textOf(a[0]));
          return guarded(s, [&] { return std::regex_match(s, regex); });
        }}},
      {"split", {1, 1, [](S s, Items a) -> LambdaItem { return splitText(s, textOf(a[0])); }}}};
  return table;
}

LambdaItem callMethod(const LambdaItem &on, const std::string &name, Items arguments) {
  auto found = methods().find(name);
  if (found == methods().end())
    refuse("'" + name + "' is not a method that lambdas can call");
  const Method &method = found->second;
  if (arguments.size() < method.least || arguments.size() > method.most)
    refuse("'" + name + "' expects " + std::to_string(method.least) + " arguments, got " +
           std::to_string(arguments.size()));
  return method.function(textOf(on), arguments);
}

// --- Functions ---------------------------------------------------------------------------------

/// The size of the words' intersection over that of their union.
static double jaccard(const std::string &a, const std::string &b) {
  auto words = [](const std::string &text) {
    StringLambda::Texts parts = splitText(text, "\\s+");
    return std::set<std::string>(parts.begin(), parts.end());
  };
  std::set<std::string> x = words(a), y = words(b), both;
  std::ranges::set_intersection(x, y, std::inserter(both, both.end()));
  return static_cast<double>(both.size()) / static_cast<double>(x.size() + y.size() - both.size());
}

/// Insertions, deletions and exchanges of words that make one text the other, per word of the
/// longer one.
static double wordErrors(const std::string &a, const std::string &b) {
  StringLambda::Texts from = splitText(a, " "), to = splitText(b, " ");
  std::vector<size_t> costs(to.size() + 1);
  std::iota(costs.begin(), costs.end(), size_t(0));
  for (size_t i = 1; i <= from.size(); ++i) {
    size_t diagonal = std::exchange(costs[0], i);
    for (size_t j = 1; j <= to.size(); ++j) {
      size_t exchanged = diagonal + (from[i - 1] != to[j - 1]);
      diagonal = costs[j];
      costs[j] = std::min({costs[j] + 1, costs[j - 1] + 1, exchanged});
    }
  }
  return static_cast<double>(costs.back()) / static_cast<double>(std::max(from.size(), to.size()));
}

static double parsed(const std::string &text) {
  auto number = parseNumber(text);
  if (!number)
    refuse("expected a number, got \"" + text + "\"");
  return *number;
}

LambdaItem callStatic(const std::string &name, Items a) {
  auto expects = [&](size_t count) {
    if (a.size() != count)
      refuse("'" + name + "' expects " + std::to_string(count) + " arguments, got " +
             std::to_string(a.size()));
  };
  auto one = [&](std::initializer_list<std::string_view> names) {
    bool is = std::ranges::find(names, name) != names.end();
    if (is)
      expects(1);
    return is;
  };
  if (one({"String.valueOf"}))
    return textOf(a[0]);
  if (one({"Integer.valueOf", "Integer.parseInt", "Long.valueOf", "Long.parseLong"}))
    return static_cast<int64_t>(parsed(textOf(a[0])));
  if (one({"Double.valueOf", "Double.parseDouble"}))
    return parsed(textOf(a[0]));
  if (one({"UtilFunctions.splitRecodeEntry"})) {
    std::string text = textOf(a[0]);
    size_t at = text.rfind("\u00b7");
    if (at == text.npos)
      refuse("expected an entry of a recode map, got \"" + text + "\"");
    return StringLambda::Texts{text.substr(0, at), text.substr(at + 2)};
  }
  if (name == "UtilFunctions.getAsciiAtIdx") {
    expects(2);
    std::string text = textOf(a[0]);
    return static_cast<int64_t>(
        static_cast<unsigned char>(substring(text, wholeOf(a[1]) - 1, wholeOf(a[1]))[0]));
  }
  if (one({"PorterStemmer.stem"}))
    return stemOf(textOf(a[0]));
  if (name == "UtilFunctions.getWordErrorRate") {
    expects(2);
    return wordErrors(textOf(a[0]), textOf(a[1]));
  }
  if (name == "UtilFunctions.jaccardSim") {
    expects(2);
    return jaccard(textOf(a[0]), textOf(a[1]));
  }
  refuse("'" + name + "' is not a function that lambdas can call");
}

} // namespace headrace::script
