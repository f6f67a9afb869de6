// Formats of print: the conversions and rounding of Java, the language of SystemDS.
#include "script/host/Format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace headrace::script {

namespace {

/// "%[flags][width][.precision]kind"
struct Mark {
  std::string flags;
  size_t width = 0;
  int precision = -1;
  char kind = 0;
  bool has(char flag) const { return flags.find(flag) != std::string::npos; }
};

constexpr size_t kMaxWidth = 1000;

/// The mark at `at`, which is moved behind it.
Mark readMark(const std::string &pattern, size_t &at) {
  size_t begin = at++;
  auto number = [&] {
    size_t value = 0;
    for (; at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9'; ++at)
      value = std::min(value * 10 + static_cast<size_t>(pattern[at] - '0'), kMaxWidth + 1);
    return value;
  };
  Mark mark;
  size_t flagsEnd = std::min(pattern.find_first_not_of("-+ 0,#(", at), pattern.size());
  mark.flags = pattern.substr(at, flagsEnd - at);
  at = flagsEnd;
  mark.width = number();
  if (at < pattern.size() && pattern[at] == '.') {
    ++at;
    mark.precision = static_cast<int>(number());
  }
  bool wide = mark.width > kMaxWidth || mark.precision > static_cast<int>(kMaxWidth);
  constexpr std::string_view kinds = "dfeEgGsbxXon%";
  if (at >= pattern.size() || kinds.find(pattern[at]) == std::string_view::npos || wide)
    throw Error(ErrorKind::InvalidArgument,
                "unknown format \"" + pattern.substr(begin, at + 1 - begin) + "\"");
  mark.kind = pattern[at++];
  return mark;
}

/// The shortest digits of a positive number: 0.d1d2d3... * 10^exponent.
struct Decimal {
  std::string digits;
  int exponent = 0;

  explicit Decimal(double value) {
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
    std::string text(buffer, end.ptr);
    size_t e = text.find('e');
    exponent = value == 0 ? 1 : std::stoi(text.substr(e + 1)) + 1;
    for (char c : text.substr(0, e))
      if (c != '.')
        digits += c;
  }

  /// So many digits, ties upwards.
  void roundTo(int count) {
    if (count < 0) {
      digits.clear();
      return;
    }
    bool up = count < static_cast<int>(digits.size()) && digits[count] >= '5';
    digits.resize(count, '0');
    int i = count - 1;
    for (; up && i >= 0 && digits[i] == '9'; --i)
      digits[i] = '0';
    if (up && i >= 0) {
      ++digits[i];
    } else if (up) {
      digits.insert(digits.begin(), '1');
      ++exponent;
    }
  }
};

std::string fixedText(double value, int decimals) {
  Decimal decimal(value);
  decimal.roundTo(decimal.exponent + decimals);
  std::string digits = decimal.digits;
  int leading = static_cast<int>(digits.size()) - decimals; // digits before the point
  if (leading < 1) {
    digits.insert(0, static_cast<size_t>(1 - leading), '0');
    leading = 1;
  }
  return digits.substr(0, leading) + (decimals > 0 ? "." + digits.substr(leading) : "");
}

std::string scientificText(double value, int decimals, char kind) {
  Decimal decimal(value);
  decimal.roundTo(decimals + 1);
  decimal.digits.resize(decimals + 1);
  char power[16];
  std::snprintf(power, sizeof power, "%c%+03d", kind, decimal.exponent - 1);
  return decimal.digits.substr(0, 1) + (decimals > 0 ? "." + decimal.digits.substr(1) : "") + power;
}

std::string grouped(std::string digits) {
  size_t point = std::min(digits.find('.'), digits.size());
  for (size_t i = point; i > 3; i -= 3)
    digits.insert(i - 3, ",");
  return digits;
}

std::string padded(const Mark &mark, const std::string &sign, const std::string &body, bool zeros) {
  size_t size = sign.size() + body.size();
  if (size >= mark.width)
    return sign + body;
  std::string fill(mark.width - size, zeros ? '0' : ' ');
  if (mark.has('-'))
    return sign + body + fill;
  return zeros ? sign + fill + body : fill + sign + body;
}

std::string signOf(const Mark &mark, bool negative) {
  return negative ? "-" : mark.has('+') ? "+" : mark.has(' ') ? " " : "";
}

[[noreturn]] void failKind(const Mark &mark, const char *expected, const Value &found) {
  throw Error(ErrorKind::TypeMismatch,
              std::string("%") + mark.kind + " expects " + expected + ", got " + describe(found));
}

std::string wholeText(const Mark &mark, const Value &value) {
  const int64_t *whole = value.as<int64_t>();
  if (!whole)
    failKind(mark, "an integer", value);
  if (mark.kind != 'd') {
    char text[32];
    const char *form = mark.kind == 'o' ? "%llo" : mark.kind == 'x' ? "%llx" : "%llX";
    std::snprintf(text, sizeof text, form, static_cast<unsigned long long>(*whole));
    return padded(mark, "", text, mark.has('0'));
  }
  std::string digits = std::to_string(*whole);
  bool negative = digits[0] == '-';
  digits.erase(0, negative);
  return padded(mark, signOf(mark, negative), mark.has(',') ? grouped(digits) : digits,
                mark.has('0'));
}

std::string realText(const Mark &mark, const Value &value) {
  const double *real = value.as<double>();
  if (!real)
    failKind(mark, "a double", value);
  if (std::isnan(*real))
    return padded(mark, "", "NaN", false);
  std::string sign = signOf(mark, std::signbit(*real));
  double size = std::fabs(*real);
  if (std::isinf(size))
    return padded(mark, sign, "Infinity", false);
  int precision = mark.precision < 0 ? 6 : mark.precision;
  std::string body;
  if (mark.kind == 'f') {
    body = fixedText(size, precision);
  } else if (mark.kind == 'e' || mark.kind == 'E') {
    body = scientificText(size, precision, mark.kind);
  } else {
    precision = std::max(precision, 1);
    bool plain = size == 0 || (size >= 1e-4 && size < std::pow(10, precision));
    int before = size == 0 ? 1 : static_cast<int>(std::floor(std::log10(size))) + 1;
    body = plain ? fixedText(size, std::max(precision - before, 0))
                 : scientificText(size, precision - 1, mark.kind == 'g' ? 'e' : 'E');
  }
  return padded(mark, sign, mark.has(',') ? grouped(body) : body, mark.has('0'));
}

std::string anyText(const Mark &mark, const Value &value) {
  const bool *truth = value.as<bool>();
  std::string shown = truth              ? (*truth ? "true" : "false")
                      : mark.kind == 'b' ? "true"
                                         : toText(value);
  if (mark.precision >= 0)
    shown = shown.substr(0, static_cast<size_t>(mark.precision));
  return padded(mark, "", shown, false);
}

std::string formatOne(const Mark &mark, const Value &value) {
  switch (mark.kind) {
  case 'd':
  case 'x':
  case 'X':
  case 'o':
    return wholeText(mark, value);
  case 's':
  case 'b':
    return anyText(mark, value);
  default:
    return realText(mark, value);
  }
}

} // namespace

std::string format(const std::string &pattern, std::span<const Value> values) {
  std::string result;
  size_t next = 0;
  for (size_t at = 0; at < pattern.size();) {
    if (pattern[at] != '%') {
      result += pattern[at++];
      continue;
    }
    Mark mark = readMark(pattern, at);
    if (mark.kind == '%' || mark.kind == 'n') {
      result += mark.kind == '%' ? '%' : '\n';
      continue;
    }
    if (next == values.size())
      throw Error(ErrorKind::InvalidArgument, "the format \"" + pattern + "\" expects more than " +
                                                  std::to_string(values.size()) + " values");
    result += formatOne(mark, values[next++]);
  }
  return result;
}

} // namespace headrace::script
