// A library of the system that decodes a format. Its headers give the types when Headrace is built;
// the library itself is needed only if such an image is.
#pragma once

namespace headrace::image {

class SystemLibrary {
public:
  /// Loads it for as long as the process lives. Throws Error, with the package to install, if it
  /// is not there.
  SystemLibrary(const char *format, const char *file, const char *package);

  /// Sets a pointer to the function of that name; throws Error if the library has none.
  template <class Function> void find(Function *&function, const char *name) const {
    function = reinterpret_cast<Function *>(address(name));
  }

private:
  void *address(const char *name) const;
  [[noreturn]] void fail() const;

  const char *format, *file, *package;
  void *handle;
};

} // namespace headrace::image
