#include "image/formats/SystemLibrary.h"

#include "runtime/system/Error.h"

#include <dlfcn.h>

namespace headrace::image {

SystemLibrary::SystemLibrary(const char *format, const char *file, const char *package)
    : format(format), file(file), package(package), handle(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (!handle)
    fail();
}

void *SystemLibrary::address(const char *name) const {
  void *found = ::dlsym(handle, name);
  if (!found)
    fail();
  return found;
}

void SystemLibrary::fail() const {
  throw Error(ErrorKind::Unsupported,
              std::string("expected the library ") + file + " to decode an image in " + format +
                  ", which this system lacks; Debian's package " + package + " has it");
}

} // namespace headrace::image
