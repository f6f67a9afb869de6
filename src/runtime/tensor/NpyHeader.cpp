#include "runtime/tensor/NpyHeader.h"

#include "runtime/system/Error.h"

#include <array>
#include <charconv>
#include <utility>

namespace headrace {

namespace {

// A type's code after the byte order.
constexpr std::array<std::pair<std::string_view, DType>, 13> codes = {{{"b1", DType::Bool},
                                                                       {"i1", DType::I8},
                                                                       {"u1", DType::U8},
                                                                       {"i2", DType::I16},
                                                                       {"u2", DType::U16},
                                                                       {"i4", DType::I32},
                                                                       {"u4", DType::U32},
                                                                       {"i8", DType::I64},
                                                                       {"u8", DType::U64},
                                                                       {"f2", DType::F16},
                                                                       {"V2", DType::BF16},
                                                                       {"f4", DType::F32},
                                                                       {"f8", DType::F64}}};

constexpr size_t maxRank = 64;

class Parser {
public:
  Parser(std::string_view text, const std::string &file) : text(text), file(file) {}

  NpyHeader parse() {
    NpyHeader header;
    bool hasType = false, hasOrder = false, hasShape = false;
    expect('{');
    while (!accept('}')) {
      std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(hasType, true))
        header.dtype = dtype();
      else if (key == "fortran_order" && !std::exchange(hasOrder, true))
        header.fortranOrder = boolean();
      else if (key == "shape" && !std::exchange(hasShape, true))
        header.shape = shape();
      else
        fail("unexpected key '" + std::string(key) + "'");
      if (!accept(',') && peek() != '}')
        fail("expected ',' or '}'");
    }
    if (peek() != '\0')
      fail("unexpected text after '}'");
    if (!hasType || !hasOrder || !hasShape)
      fail("expected the keys 'descr', 'fortran_order' and 'shape'");
    return header;
  }

private:
  [[noreturn]] void fail(const std::string &reason) {
    throw Error(ErrorKind::InvalidFile, file + ": malformed npy header: " + reason);
  }

  // The next character that is not a blank, or 0 at the end.
  char peek() {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t'))
      text.remove_prefix(1);
    return text.empty() ? '\0' : text[0];
  }

  bool accept(char wanted) {
    if (peek() != wanted)
      return false;
    text.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted))
      fail(std::string("expected '") + wanted + "'");
  }

  std::string_view quoted() {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      fail("expected a quoted name");
    text.remove_prefix(1);
    size_t end = text.find(quote);
    if (end == std::string_view::npos)
      fail("a quoted name does not end");
    std::string_view content = text.substr(0, end);
    text.remove_prefix(end + 1);
    return content;
  }

  bool boolean() {
    peek();
    for (auto [word, value] : {std::pair("True", true), std::pair("False", false)})
      if (text.starts_with(word)) {
        text.remove_prefix(std::string_view(word).size());
        return value;
      }
    fail("expected True or False for 'fortran_order'");
  }

  DType dtype() {
    if (peek() == '[')
      unsupported("a structured type");
    std::string_view descr = quoted();
    if (descr.size() < 2)
      unsupported("'" + std::string(descr) + "'");
    char order = descr[0];
    std::string_view code = descr.substr(1);
    bool oneByte = code.ends_with('1');
    if (order == '<' || order == '=' || order == '|' || (order == '>' && oneByte))
      for (auto [known, type] : codes)
        if (known == code)
          return type;
    unsupported("'" + std::string(descr) + "'");
  }

  [[noreturn]] void unsupported(const std::string &found) {
    throw Error(ErrorKind::Unsupported,
                file + ": expected a little-endian bool, integer or float array, got type " +
                    found);
  }

  Shape shape() {
    Shape sizes;
    expect('(');
    while (!accept(')')) {
      if (sizes.size() == maxRank)
        fail("more than " + std::to_string(maxRank) + " dimensions");
      sizes.push_back(size());
      if (!accept(',') && peek() != ')')
        fail("expected ',' or ')' in 'shape'");
    }
    return sizes;
  }

  int64_t size() {
    peek();
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0)
      fail("expected sizes of 0 or more in 'shape'");
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    accept('L'); // written by Python 2
    return value;
  }

  std::string_view text;
  const std::string &file;
};

} // namespace

NpyHeader parseNpyHeader(std::string_view text, const std::string &file) {
  return Parser(text, file).parse();
}

std::string npyHeaderText(DType dtype, const Shape &shape) {
  std::string text = "{'descr': '";
  text += sizeOf(dtype) == 1 ? '|' : '<';
  for (auto [code, type] : codes)
    if (type == dtype)
      text += code;
  text += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",), }" : "), }");
}

} // namespace headrace
