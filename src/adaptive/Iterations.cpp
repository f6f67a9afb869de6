#include "adaptive/Iterations.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <charconv>
#include <cstdlib>

namespace headrace::adaptive {

static constexpr int64_t kMaxIterations = 100'000'000;

int64_t maxIterations(int64_t wanted) {
  if (wanted > 0)
    return wanted;
  const char *name = "HEADRACE_MAX_ITERATIONS";
  const char *text = std::getenv(name);
  if (!text || !*text) {
    // Deprecated name of the variable.
    name = "HEADRACE_MOST_ITERATIONS";
    text = std::getenv(name);
  }
  if (!text || !*text)
    return kMaxIterations;
  int64_t number = 0;
  std::string_view given(text);
  auto [end, failure] = std::from_chars(given.begin(), given.end(), number);
  if (failure != std::errc() || end != given.end() || number < 1)
    throw Error(ErrorKind::InvalidArgument,
                std::string(name) + ": expected an integer of 1 or more, got " + inQuotes(given));
  return number;
}

} // namespace headrace::adaptive
