// DimExpr::parse

#include "runtime/system/Error.h"
#include "runtime/tensor/DimExpr.h"

#include <charconv>

namespace headrace {

namespace {

// Each level is a few frames of ours; the text comes from an untrusted file.
constexpr int maxDepth = 500;

// sum     = product { ("+" | "-") product }
// product = unary { ("*" | "//" | "%") unary }
// unary   = number | "-" unary | "s" digits | ("max" | "min") "(" sum "," sum ")" | "(" sum ")"
class Parser {
public:
  Parser(std::string_view text, size_t symbols) : text(text), symbols(symbols) {}

  DimExpr parse() {
    DimExpr result = sum();
    if (position != text.size())
      fail();
    return result;
  }

private:
  [[noreturn]] void fail() const {
    throw Error(ErrorKind::InvalidArgument, "expected a size over " + std::to_string(symbols) +
                                                " symbols, got '" +
                                                std::string(text.substr(0, 80)) + "'");
  }

  bool accept(std::string_view token) {
    while (position < text.size() && text[position] == ' ')
      ++position;
    if (!text.substr(position).starts_with(token))
      return false;
    position += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token))
      fail();
  }

  template <class T> T number() {
    T value = 0;
    const char *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + position, end, value);
    if (error != std::errc())
      fail();
    position = static_cast<size_t>(stop - text.data());
    return value;
  }

  bool atDigit(size_t ahead) const {
    return position + ahead < text.size() && text[position + ahead] >= '0' &&
           text[position + ahead] <= '9';
  }

  DimExpr sum() {
    if (++depth > maxDepth)
      fail();
    DimExpr result = product();
    for (;;) {
      if (accept("+"))
        result = result + product();
      else if (accept("-"))
        result = result - product();
      else
        break;
    }
    --depth;
    return result;
  }

  DimExpr product() {
    DimExpr result = unary();
    for (;;) {
      if (accept("*"))
        result = result * unary();
      else if (accept("//"))
        result = result.floorDiv(divisor());
      else if (accept("%"))
        result = result.mod(divisor());
      else
        return result;
    }
  }

  // No size is divided by 0, whatever the symbols are.
  DimExpr divisor() {
    DimExpr result = unary();
    if (result.asConstant() == 0)
      fail();
    return result;
  }

  DimExpr unary() {
    bool negative = accept("-");
    if (negative && !atDigit(0))
      return DimExpr() - primary();
    position -= negative ? 1 : 0; // the sign belongs to the number
    return primary();
  }

  DimExpr primary() {
    if (accept("max("))
      return extremum(&DimExpr::max);
    if (accept("min("))
      return extremum(&DimExpr::min);
    if (accept("(")) {
      DimExpr result = sum();
      expect(")");
      return result;
    }
    if (accept("s")) {
      if (!atDigit(0))
        fail();
      auto index = number<unsigned>();
      if (index >= symbols)
        fail();
      return DimExpr::symbol(index);
    }
    return DimExpr::constant(number<int64_t>());
  }

  DimExpr extremum(DimExpr (DimExpr::*function)(const DimExpr &) const) {
    DimExpr first = sum();
    expect(",");
    DimExpr second = sum();
    expect(")");
    return (first.*function)(second);
  }

  std::string_view text;
  size_t symbols;
  size_t position = 0;
  int depth = 0;
};

} // namespace

DimExpr DimExpr::parse(std::string_view text, size_t symbols) {
  return Parser(text, symbols).parse();
}

} // namespace headrace
