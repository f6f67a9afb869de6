#include "runtime/program/Library.h"

#include <algorithm>

namespace headrace {

static const LibraryInfo *findLibrary(std::string_view name) {
  auto found = std::ranges::find(neededLibraries(), name, &LibraryInfo::name);
  return found == neededLibraries().end() ? nullptr : &*found;
}

static const LibraryRoutine *find(std::string_view name) {
  auto found = std::ranges::find(shippedRoutines(), name, &LibraryRoutine::name);
  return found == shippedRoutines().end() ? nullptr : &*found;
}

LibraryFn findLibraryRoutine(std::string_view name) {
  const LibraryRoutine *routine = find(name);
  bool isHere = routine && (routine->library.empty() || libraryAvailable(routine->library));
  return isHere ? routine->function : nullptr;
}

std::string_view howToGet(std::string_view name) {
  const LibraryRoutine *routine = find(name);
  const LibraryInfo *library = routine ? findLibrary(routine->library) : nullptr;
  return library ? library->howToGet : "";
}

std::optional<LibraryShape> libraryShape(std::string_view name) {
  const LibraryRoutine *routine = find(name);
  return routine ? std::optional(routine->shape) : std::nullopt;
}

std::string libraryFault(const Step &step, std::span<const int64_t> parameters,
                         std::span<const int64_t> operandBytes) {
  const LibraryRoutine *routine = find(step.symbol);
  return routine ? routine->fault(parameters, operandBytes) : "";
}

bool libraryAvailable(std::string_view library) {
  const LibraryInfo *found = findLibrary(library);
  return found && found->isHere();
}

} // namespace headrace
