#include "runtime/Library.h"

#include "runtime/Error.h"
#include "runtime/OpenBlas.h"
#include "runtime/ValueCheck.h"

#include <array>
#include <cstring>

namespace headrace {

namespace {

void copyBytes(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
               ThreadPool &pool) {
  if (step.operands.size() != 2 || parameters.size() != 1 || parameters[0] < 0)
    throw InternalError("step '" + step.name + "': copy takes 2 operands and a size");
  constexpr int64_t grain = 128 * 1024; // less is done before a worker has woken up
  auto *source = static_cast<const std::byte *>(buffers[0]);
  auto *target = static_cast<std::byte *>(buffers[1]);
  pool.parallelFor(parameters[0], grain, [&](int64_t begin, int64_t end, int) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

struct Routine {
  std::string_view name;
  std::string_view library; // empty: our own
  LibraryFn function;
};

constexpr std::array<Routine, 5> routines = {{
    {"copy", "", copyBytes},
    {"check.index", "", runCheckStep},
    {"check.divisor", "", runCheckStep},
    {"check.target", "", runCheckStep},
    {"openblas.sgemm", "openblas", openBlasSgemm},
}};

} // namespace

LibraryFn findLibraryRoutine(std::string_view name) {
  for (const Routine &routine : routines)
    if (routine.name == name)
      return routine.library.empty() || libraryAvailable(routine.library) ? routine.function
                                                                          : nullptr;
  return nullptr;
}

bool libraryAvailable(std::string_view library) {
  return library == "openblas" && openBlasAvailable();
}

} // namespace headrace
