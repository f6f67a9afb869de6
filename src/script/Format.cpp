#include "script/Format.h"

#include <cmath>
#include <cstdio>

namespace headrace::script {

/// "%[flags][width][.precision]" of at most a few characters, checked before it reaches snprintf.
static bool harmless(const std::string &mark) {
  return mark.size() <= 8 && mark.find_first_not_of("%0123456789.+- #,") == std::string::npos;
}

static std::string formatOne(const std::string &mark, char kind, const Value &value) {
  char text[512];
  switch (kind) {
  case 'd':
    if (!value.as<int64_t>() && !value.as<bool>() &&
        value.number("%d") != std::floor(value.number("%d")))
      throw Error(ErrorKind::TypeMismatch, "%d expects a whole number, found " + describe(value));
    std::snprintf(text, sizeof text, (mark + "lld").c_str(),
                  static_cast<long long>(value.whole("%d")));
    return text;
  case 'f':
  case 'e':
  case 'E':
  case 'g':
  case 'G':
    std::snprintf(text, sizeof text, (mark + kind).c_str(), value.number("%f"));
    return text;
  default: {
    std::string shown = toText(value);
    int width = std::atoi(mark.c_str() + 1);
    size_t wanted = static_cast<size_t>(std::abs(width));
    if (shown.size() >= wanted)
      return shown;
    std::string blanks(wanted - shown.size(), ' ');
    return width < 0 ? shown + blanks : blanks + shown;
  }
  }
}

std::string format(const std::string &pattern, std::span<const Value> values) {
  std::string result;
  size_t next = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      result += pattern[i];
      continue;
    }
    size_t end = pattern.find_first_of("dfeEgGsb%n", i + 1);
    std::string mark = pattern.substr(i, end == std::string::npos ? end : end - i);
    if (end == std::string::npos || !harmless(mark))
      throw Error(ErrorKind::InvalidArgument, "unknown format \"" + mark + "\"");
    i = end;
    if (pattern[end] == '%' || pattern[end] == 'n') {
      result += pattern[end] == '%' ? '%' : '\n';
      continue;
    }
    if (next == values.size())
      throw Error(ErrorKind::InvalidArgument, "the format \"" + pattern + "\" expects more than " +
                                                  std::to_string(values.size()) + " values");
    result += formatOne(mark, pattern[end], values[next++]);
  }
  return result;
}

} // namespace headrace::script
