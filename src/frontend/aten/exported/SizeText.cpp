#include "frontend/aten/exported/SizeText.h"

#include "runtime/system/Error.h"

#include <cctype>
#include <charconv>
#include <map>

namespace headrace::aten {

namespace {

class Parser {
public:
  Parser(GraphBuilder &builder, const std::string &text,
         const std::function<Size(const std::string &)> &symbol)
      : builder(builder), text(text), symbol(symbol) {}

  Size whole() {
    Size size = expression(0);
    if (at != text.size())
      fail();
    return size;
  }

private:
  static constexpr int maxDepth = 100;

  [[noreturn]] void fail() const {
    throw Error(ErrorKind::Unsupported, "the dimension " + text.substr(0, 200));
  }

  bool skip(char c) {
    while (at < text.size() && text[at] == ' ')
      ++at;
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }

  std::string word() {
    size_t start = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) ||
                                text[at] == '_' || text[at] == '-'))
      ++at;
    return text.substr(start, at - start);
  }

  static std::optional<int64_t> integerIn(const std::string &word) {
    int64_t number = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    bool isWhole = error == std::errc() && end == word.data() + word.size();
    return isWhole ? std::optional(number) : std::nullopt;
  }

  Size expression(int depth) {
    if (depth > maxDepth)
      fail();
    skip(' ');
    std::string name = word();
    if (auto number = integerIn(name))
      return *number;
    if (!skip('('))
      return symbol(name);
    if (name == "Symbol") {
      if (!skip('\''))
        fail();
      size_t end = text.find('\'', at);
      if (end == std::string::npos)
        fail();
      std::string title = text.substr(at, end - at);
      at = text.find(')', end);
      if (at == std::string::npos)
        fail();
      ++at;
      return symbol(title);
    }
    if (name == "Integer") {
      auto number = integerIn(word());
      if (!number || !skip(')'))
        fail();
      return *number;
    }
    std::vector<Size> operands;
    do {
      while (at < text.size() && text[at] == ' ')
        ++at;
      operands.push_back(expression(depth + 1));
    } while (skip(','));
    if (!skip(')'))
      fail();
    return applied(name, operands);
  }

  Size applied(const std::string &name, const std::vector<Size> &operands) {
    static const std::map<std::string, std::string> functions{
        {"Add", "add"},         {"Mul", "mul"}, {"FloorDiv", "floordiv"}, {"CleanDiv", "floordiv"},
        {"CeilDiv", "ceildiv"}, {"Mod", "mod"}, {"PythonMod", "mod"}};
    if (name == "Pow" && operands.size() == 2) {
      const auto *exponent = std::get_if<int64_t>(&operands[1]);
      if (!exponent || *exponent < 1 || *exponent > 16)
        fail();
      Size total = operands[0];
      for (int64_t i = 1; i < *exponent; ++i)
        total = builder.arithmetic("mul", total, operands[0]);
      return total;
    }
    auto found = functions.find(name.substr(name.rfind('.') + 1));
    if (found == functions.end())
      fail();
    Size total = operands[0];
    for (size_t i = 1; i < operands.size(); ++i)
      total = builder.arithmetic(found->second, total, operands[i]);
    return total;
  }

  GraphBuilder &builder;
  const std::string &text;
  const std::function<Size(const std::string &)> &symbol;
  size_t at = 0;
};

} // namespace

Size sizeFromText(GraphBuilder &builder, const std::string &text,
                  const std::function<Size(const std::string &)> &symbol) {
  return Parser(builder, text, symbol).whole();
}

} // namespace headrace::aten
