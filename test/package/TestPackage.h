// A small package, written without the compiler: y = x * (x + 1) * w for any n, and y = tanh(x) in
// its version for n = 1.
#pragma once

#include "package/Contents.h"
#include "package/Zip.h"

#include <filesystem>

namespace headrace::test {

PackageContents testContents();

/// The linked code of the test kernels.
std::vector<std::byte> testCode();

void writeTestPackage(const std::filesystem::path &path,
                      const PackageContents &contents = testContents(),
                      const std::vector<std::byte> &code = testCode());

/// The package's formula on the host.
std::vector<float> expectedOutput(const std::vector<float> &x);

/// How many elements its weights have, for n of 2 to that.
inline constexpr int64_t maxElements = 3000;

std::vector<std::byte> readBytes(const std::filesystem::path &path);
void writeBytes(const std::filesystem::path &path, Bytes bytes);

} // namespace headrace::test
