#include "capi/Fixture.h"

#include "package/TestPackage.h"
#include "runtime/Helpers.h"

struct TestPackageFile::Impl {
  headrace::test::TemporaryFolder folder;
};

TestPackageFile::TestPackageFile() : impl(std::make_unique<Impl>()) {
  headrace::test::writeTestPackage(path());
}
TestPackageFile::~TestPackageFile() = default;
std::string TestPackageFile::path() const { return impl->folder / "test.hrpkg"; }

std::vector<float> expectedValues(const std::vector<float> &x) {
  return headrace::test::expectedOutput(x);
}
