#include "runtime/matrix/Number.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace headrace {

namespace {

bool isDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// A decimal number as it is written: digits * 10^exponent.
struct Decimal {
  uint64_t digits = 0;
  int64_t exponent = 0;
  bool exact = true; // all digits are in `digits`
  const char *end = nullptr;
};

const char *readDigits(const char *at, const char *end, Decimal &number) {
  constexpr uint64_t full = std::numeric_limits<uint64_t>::max() / 10 - 1;
  for (; at != end && isDigit(*at); ++at)
    if (number.digits <= full)
      number.digits = number.digits * 10 + static_cast<uint64_t>(*at - '0');
    else {
      number.exact = false;
      ++number.exponent;
    }
  return at;
}

/// No end if there is no digit.
Decimal readDecimal(const char *begin, const char *end) {
  constexpr int64_t vast = 1'000'000;
  Decimal number;
  const char *point = readDigits(begin, end, number), *at = point;
  if (at != end && *at == '.') {
    at = readDigits(point + 1, end, number);
    number.exponent -= at - (point + 1);
    if (at == point + 1 && point == begin)
      return number;
  } else if (at == begin)
    return number;
  number.end = at;
  if (at == end || (*at | 0x20) != 'e')
    return number;
  const char *sign = at + 1, *first = sign;
  if (first != end && (*first == '-' || *first == '+'))
    ++first;
  int64_t exponent = 0;
  const char *last = first;
  for (; last != end && isDigit(*last); ++last)
    if (exponent < vast)
      exponent = exponent * 10 + (*last - '0');
  if (last == first) // "1e" is a 1 and a letter
    return number;
  number.exponent += *sign == '-' ? -exponent : exponent;
  number.end = last;
  return number;
}

/// Clinger: both factors are exact doubles, so that one rounding gives the nearest result.
bool convertExactly(const Decimal &number, double &value) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (!number.exact || number.digits > uint64_t{1} << 53 || number.exponent < -22 ||
      number.exponent > 22)
    return false;
  auto digits = static_cast<double>(number.digits);
  value =
      number.exponent < 0 ? digits / powers[-number.exponent] : digits * powers[number.exponent];
  return true;
}

} // namespace

const char *parseNumber(const char *begin, const char *end, double &value) {
  bool negative = begin != end && *begin == '-';
  const char *first = begin != end && (negative || *begin == '+') ? begin + 1 : begin;
  Decimal number = readDecimal(first, end);
  if (!number.end) { // a word, if anything
    if (first == end || isDigit(*first) || *first == '.' || *first == '-')
      return nullptr;
    auto [stopped, error] = std::from_chars(first, end, value);
    if (error != std::errc())
      return nullptr;
    number.end = stopped;
  } else if (!convertExactly(number, value)) {
    auto [stopped, error] = std::from_chars(first, number.end, value);
    if (error == std::errc::result_out_of_range) // beyond all doubles, or nearer to 0 than any
      value = number.exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
  }
  if (negative)
    value = -value;
  return number.end;
}

std::optional<double> numberOf(std::string_view text) {
  double value = 0;
  const char *begin = text.begin(), *end = text.end();
  if (begin == end || parseNumber(begin, end, value) != end)
    return std::nullopt;
  return value;
}

std::optional<int64_t> wholeNumberOf(std::string_view text) {
  int64_t value = 0;
  auto [stopped, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || stopped != text.end())
    return std::nullopt;
  return value;
}

void appendNumber(std::string &text, double value) {
  constexpr double wholeLimit = 1e15;
  char buffer[32];
  char *end = buffer;
  if (std::isnan(value)) {
    text += "NaN";
    return;
  }
  if (std::isinf(value)) {
    text += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  // Integers in full: the shortest text of 100000 would be 1e+05.
  if (std::abs(value) < wholeLimit && value == std::trunc(value) &&
      !(value == 0 && std::signbit(value)))
    end = std::to_chars(buffer, buffer + sizeof(buffer), static_cast<int64_t>(value)).ptr;
  else
    end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  text.append(buffer, end);
}

} // namespace headrace
