#include "runtime/library/Sort.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headrace {

namespace {

template <class T> struct Entry {
  T value;
  int64_t position;
};

template <class T> bool isLess(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (std::isnan(b) && !std::isnan(a));
  return a < b;
}

template <class T> void sortEntries(std::vector<Entry<T>> &line, int64_t taken, bool descending) {
  auto comesFirst = [&](const Entry<T> &a, const Entry<T> &b) {
    const Entry<T> &low = descending ? b : a, &high = descending ? a : b;
    if (isLess(low.value, high.value))
      return true;
    return !isLess(high.value, low.value) && a.position < b.position;
  };
  auto middle = line.begin() + taken;
  if (taken < static_cast<int64_t>(line.size()))
    std::nth_element(line.begin(), middle, line.end(), comesFirst);
  std::sort(line.begin(), middle, comesFirst);
}

Sort sortOf(std::span<const int64_t> parameters) {
  return {parameters[0], parameters[1],      parameters[2],
          parameters[3], parameters[4] != 0, parameters.size() > 5 ? parameters[5] : 0};
}

} // namespace

template <class T>
void sortLines(const Sort &sort, const T *values, int64_t *positions, ThreadPool &pool) {
  constexpr int64_t grain = 16 * 1024; // elements that are worth a worker's waking up
  int64_t lines = sort.outer * sort.inner;
  int64_t linesPerPart =
      sort.lines ? sort.lines : std::max<int64_t>(1, grain / std::max<int64_t>(sort.size, 1));
  pool.parallelFor(lines, linesPerPart, [&](int64_t begin, int64_t end, int) {
    std::vector<Entry<T>> line(static_cast<size_t>(sort.size));
    for (int64_t i = begin; i < end; ++i) {
      int64_t outer = i / sort.inner, inner = i % sort.inner;
      const T *first = values + outer * sort.size * sort.inner + inner;
      for (int64_t j = 0; j < sort.size; ++j)
        line[static_cast<size_t>(j)] = {first[j * sort.inner], j};
      sortEntries(line, sort.taken, sort.descending);
      int64_t *to = positions + outer * sort.taken * sort.inner + inner;
      for (int64_t j = 0; j < sort.taken; ++j)
        to[j * sort.inner] = line[static_cast<size_t>(j)].position;
    }
  });
}

template <class T>
void runSortStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                 ThreadPool &pool) {
  if (step.operands.size() != 2 || (parameters.size() != 5 && parameters.size() != 6))
    throw InternalError("step '" + step.name + "': sorting takes 2 operands and 5 or 6 parameters");
  sortLines(sortOf(parameters), static_cast<const T *>(buffers[0]),
            static_cast<int64_t *>(buffers[1]), pool);
}

template <class T>
std::string sortStepFault(std::span<const int64_t> parameters,
                          std::span<const int64_t> operandBytes) {
  Sort sort = sortOf(parameters);
  if (sort.lines < 0 || sort.lines > maxLinesAtOnce)
    return "sorts " + std::to_string(sort.lines) + " lines at once";
  auto bytes = [&](int64_t length, size_t element) -> int64_t {
    int64_t total = static_cast<int64_t>(element);
    for (int64_t size : {sort.outer, length, sort.inner})
      if (size < 0 || __builtin_mul_overflow(total, size, &total))
        return std::numeric_limits<int64_t>::max();
    return total;
  };
  if (sort.taken <= sort.size && bytes(sort.size, sizeof(T)) <= operandBytes[0] &&
      bytes(sort.taken, sizeof(int64_t)) <= operandBytes[1])
    return "";
  return "sorts " + std::to_string(sort.outer) + " x " + std::to_string(sort.size) + " x " +
         std::to_string(sort.inner) + " elements, of which " + std::to_string(sort.taken) +
         " are taken, in buffers of " + std::to_string(operandBytes[0]) + " and " +
         std::to_string(operandBytes[1]) + " bytes";
}

#define HEADRACE_SORT(T)                                                                           \
  template void sortLines<T>(const Sort &, const T *, int64_t *, ThreadPool &);                    \
  template void runSortStep<T>(const Step &, void *const *, std::span<const int64_t>,              \
                               ThreadPool &);                                                      \
  template std::string sortStepFault<T>(std::span<const int64_t>, std::span<const int64_t>)
HEADRACE_SORT(float);
HEADRACE_SORT(double);
HEADRACE_SORT(int32_t);
HEADRACE_SORT(int64_t);
#undef HEADRACE_SORT

} // namespace headrace
