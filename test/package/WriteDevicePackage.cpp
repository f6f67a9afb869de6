// Writes the package for a device without the compiler, for the tests of Python's side.
#include "package/DevicePackage.h"

int main(int, char **arguments) {
  headrace::test::writeDevicePackage(arguments[1], headrace::test::deviceContents());
  return 0;
}
