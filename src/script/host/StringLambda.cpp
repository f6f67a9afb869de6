#include "script/host/StringLambda.h"

#include "script/host/StringMethods.h"
#include "script/host/Value.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace headrace::script {

namespace {

using Term = StringLambda::Term;
using Texts = StringLambda::Texts;
using Item = StringLambda::Item;
using Arguments = std::span<const Item>;

/// Terms nest at most so deep.
constexpr int kDeepest = 100;

bool truthOf(const Item &item) {
  if (auto *truth = std::get_if<bool>(&item))
    return *truth;
  throw Error(ErrorKind::InvalidArgument,
              "map: expected a condition, got \"" + textOf(item) + "\"");
}

bool isText(const Item &item) { return std::holds_alternative<std::string>(item); }
bool isWhole(const Item &item) { return std::holds_alternative<int64_t>(item); }

Item added(const Item &a, const Item &b) {
  if (isText(a) || isText(b))
    return textOf(a) + textOf(b);
  if (isWhole(a) && isWhole(b))
    return std::get<int64_t>(a) + std::get<int64_t>(b);
  return numberOf(a) + numberOf(b);
}

Item arithmetic(char op, const Item &a, const Item &b) {
  double x = numberOf(a), y = numberOf(b);
  bool whole = isWhole(a) && isWhole(b);
  if (whole && (op == '/' || op == '%') && y == 0)
    throw Error(ErrorKind::InvalidArgument, "map: a division by 0");
  double result = op == '-' ? x - y : op == '*' ? x * y : op == '/' ? x / y : std::fmod(x, y);
  return whole ? Item(static_cast<int64_t>(result)) : Item(result);
}

Item compared(const std::string &op, const Item &a, const Item &b) {
  if (op == "==" || op == "!=") {
    bool equal = isText(a) || std::holds_alternative<bool>(a) ? textOf(a) == textOf(b)
                                                              : numberOf(a) == numberOf(b);
    return equal == (op == "==");
  }
  double x = numberOf(a), y = numberOf(b);
  return op == "<" ? x < y : op == "<=" ? x <= y : op == ">" ? x > y : x >= y;
}

class Parser {
public:
  explicit Parser(const std::string &text) : text(text) {}

  std::pair<std::vector<std::string>, Term> lambda() {
    if (take("(")) {
      do
        names.push_back(word());
      while (take(","));
      expect(")");
    } else {
      names.push_back(word());
    }
    expect("->");
    Term body = term();
    skip();
    if (at != text.size())
      fail("the end");
    return {names, body};
  }

private:
  Term term() {
    if (++depth > kDeepest)
      fail("a shorter lambda");
    Term test = disjunction();
    if (take("?")) {
      Term yes = term();
      expect(":");
      Term no = term();
      test = [test, yes, no](Arguments a) { return truthOf(test(a)) ? yes(a) : no(a); };
    }
    --depth;
    return test;
  }

  Term disjunction() {
    Term left = conjunction();
    while (take("||") || take("|")) {
      Term right = conjunction();
      left = [left, right](Arguments a) -> Item { return truthOf(left(a)) || truthOf(right(a)); };
    }
    return left;
  }

  Term conjunction() {
    Term left = comparison();
    while (take("&&") || take("&")) {
      Term right = comparison();
      left = [left, right](Arguments a) -> Item { return truthOf(left(a)) && truthOf(right(a)); };
    }
    return left;
  }

  Term comparison() {
    Term left = sum();
    for (const char *op : {"==", "!=", "<=", ">=", "<", ">"})
      if (take(op)) {
        Term right = sum();
        return [left, right, op = std::string(op)](Arguments a) {
          return compared(op, left(a), right(a));
        };
      }
    return left;
  }

  Term sum() {
    Term left = product();
    while (true) {
      bool plus = take("+");
      if (!plus && !(peek() == '-' && !text.substr(at).starts_with("->") && take("-")))
        return left;
      Term right = product();
      left = [left, right, plus](Arguments a) {
        return plus ? added(left(a), right(a)) : arithmetic('-', left(a), right(a));
      };
    }
  }

  Term product() {
    Term left = unary();
    while (true) {
      char op = peek();
      if (op != '*' && op != '/' && op != '%')
        return left;
      ++at;
      Term right = unary();
      left = [left, right, op](Arguments a) { return arithmetic(op, left(a), right(a)); };
    }
  }

  Term unary() {
    if (take("!")) {
      Term operand = nested();
      return [operand](Arguments a) -> Item { return !truthOf(operand(a)); };
    }
    if (take("-")) {
      Term operand = nested();
      return [operand](Arguments a) { return arithmetic('-', Item(int64_t(0)), operand(a)); };
    }
    return suffixed(primary());
  }

  Term nested() {
    if (++depth > kDeepest)
      fail("a shorter lambda");
    Term operand = unary();
    --depth;
    return operand;
  }

  /// `.method(...)` and `[i]`
  Term suffixed(Term on) {
    while (true) {
      if (take(".")) {
        std::string name = word();
        if (name == "length" && peek() != '(') {
          on = [on](Arguments a) -> Item { return std::ssize(std::get<Texts>(on(a))); };
          continue;
        }
        std::vector<Term> arguments = argumentList();
        on = [on, name, arguments](Arguments a) {
          return callMethod(on(a), name, values(arguments, a));
        };
      } else if (take("[")) {
        Term index = term();
        expect("]");
        on = [on, index](Arguments a) { return element(on(a), index(a)); };
      } else {
        return on;
      }
    }
  }

  static Item element(const Item &of, const Item &index) {
    auto *texts = std::get_if<Texts>(&of);
    double at = numberOf(index);
    if (!texts || !(at >= 0 && at < static_cast<double>(texts->size())))
      throw Error(ErrorKind::InvalidArgument, "map: there is no part " + textOf(index));
    return (*texts)[static_cast<size_t>(at)];
  }

  Term primary() {
    skip();
    char c = peek();
    if (c == '"' || c == '\'')
      return constant(literal(c));
    if (std::isdigit(static_cast<unsigned char>(c)))
      return number();
    if (take("(")) {
      Term inner = term();
      expect(")");
      return inner;
    }
    std::string name = word();
    if (name == "new")
      return array();
    if (auto found = std::ranges::find(names, name); found != names.end())
      return [i = found - names.begin()](Arguments a) -> Item { return a[i]; };
    if (name == "true" || name == "false")
      return constant(name == "true");
    expect(".");
    name += "." + word();
    std::vector<Term> arguments = argumentList();
    return [name, arguments](Arguments a) { return callStatic(name, values(arguments, a)); };
  }

  /// `String[]{a, b}`
  Term array() {
    for (const char *token : {"String", "[", "]"})
      expect(token);
    std::vector<Term> parts = list("{", "}");
    return [parts](Arguments a) -> Item {
      Texts texts;
      for (const Term &part : parts)
        texts.push_back(textOf(part(a)));
      return texts;
    };
  }

  std::vector<Term> argumentList() { return list("(", ")"); }

  std::vector<Term> list(const char *open, const char *close) {
    expect(open);
    std::vector<Term> terms;
    if (take(close))
      return terms;
    do
      terms.push_back(term());
    while (take(","));
    expect(close);
    return terms;
  }

  static std::vector<Item> values(const std::vector<Term> &terms, Arguments a) {
    std::vector<Item> result;
    for (const Term &term : terms)
      result.push_back(term(a));
    return result;
  }

  static Term constant(Item item) {
    return [item = std::move(item)](Arguments) { return item; };
  }

  Term number() {
    double value = 0;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc())
      fail("a number");
    std::string_view digits(text.data() + at, end);
    at = static_cast<size_t>(end - text.data());
    bool whole = digits.find_first_of(".eE") == digits.npos;
    return whole && value < 0x1p63 ? constant(static_cast<int64_t>(value)) : constant(value);
  }

  std::string literal(char quote) {
    std::string result;
    for (++at; at < text.size() && text[at] != quote; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) {
        char next = text[at + 1];
        constexpr std::string_view escapes = "ntr\"'\\", meanings = "\n\t\r\"'\\";
        size_t which = escapes.find(next);
        // A backslash before other characters is one of a regular expression's.
        if (which != escapes.npos) {
          result += meanings[which];
          ++at;
          continue;
        }
      }
      result += text[at];
    }
    expect(std::string_view(&quote, 1));
    return result;
  }

  // --- Characters ------------------------------------------------------------------------------

  void skip() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  char peek() {
    skip();
    return at < text.size() ? text[at] : '\0';
  }
  bool take(std::string_view token) {
    skip();
    bool found = std::string_view(text).substr(at).starts_with(token);
    at += found ? token.size() : 0;
    return found;
  }
  void expect(std::string_view token) {
    if (!take(token))
      fail("'" + std::string(token) + "'");
  }
  std::string word() {
    skip();
    size_t begin = at;
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
      ++at;
    if (at == begin)
      fail("a name");
    return text.substr(begin, at - begin);
  }
  [[noreturn]] void fail(const std::string &expected) {
    throw Error(ErrorKind::InvalidArgument, "map: expected " + expected + " at character " +
                                                std::to_string(at + 1) + " of the lambda \"" +
                                                text + "\"");
  }

  const std::string &text;
  size_t at = 0;
  int depth = 0;
  std::vector<std::string> names;
};

} // namespace

StringLambda::StringLambda(const std::string &text) {
  // Operators in a row nest as calls do.
  if (text.size() > 2000)
    throw Error(ErrorKind::InvalidArgument, "map: expected a lambda of at most 2000 characters");
  std::tie(names, body) = Parser(text).lambda();
}

} // namespace headrace::script
