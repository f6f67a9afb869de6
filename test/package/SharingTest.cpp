// Many users of one package: threads, and processes.
#include "package/Package.h"
#include "package/TestPackage.h"
#include "runtime/Helpers.h"

#include <atomic>
#include <cstdlib>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>

namespace headrace::test {
namespace {

constexpr int threadCount = 8;
constexpr int callCount = 100;

/// Eight threads, half of them with a package of their own; how many results are wrong.
int wrongResults(const std::filesystem::path &path) {
  auto shared = Package::open(path);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < threadCount; ++t)
    threads.emplace_back([&, t] {
      auto package = t % 2 ? Package::open(path) : shared;
      for (int call = 0; call < callCount; ++call) {
        std::vector<float> x(static_cast<size_t>(1 + (t * 37 + call * 11) % maxElements), 0.5f + t);
        Tensor input = floats({static_cast<int64_t>(x.size())}, x);
        auto version = package->program()->find({&input, 1});
        if (valuesOf<float>(version->run({&input, 1})[0]) != expectedOutput(x))
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return wrong;
}

constexpr char pathVariable[] = "HEADRACE_TEST_PACKAGE";

TEST(PackageSharing, EightThreadsShareAPackage) {
  if (const char *path = std::getenv(pathVariable)) {
    EXPECT_EQ(wrongResults(path), 0);
    return;
  }
  TemporaryFolder folder;
  writeTestPackage(folder / "test.hrpkg");
  EXPECT_EQ(wrongResults(folder / "test.hrpkg"), 0);
}

/// Starts the test above in a process of its own, on this package.
pid_t startProcess(const std::filesystem::path &path) {
  ::setenv(pathVariable, path.c_str(), 1);
  std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::string filter = "--gtest_filter=PackageSharing.EightThreadsShareAPackage";
  char *arguments[] = {program.data(), filter.data(), nullptr};
  pid_t child = -1;
  EXPECT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  ::unsetenv(pathVariable);
  return child;
}

TEST(PackageSharing, TwoProcessesOfEightThreadsShareAPackage) {
  TemporaryFolder folder;
  writeTestPackage(folder / "test.hrpkg");
  pid_t children[] = {startProcess(folder / "test.hrpkg"), startProcess(folder / "test.hrpkg")};
  for (pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(PackageSharing, PackagesOpenAndCloseManyTimes) {
  TemporaryFolder folder;
  writeTestPackage(folder / "test.hrpkg");
  auto openFiles = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  Package::open(folder / "test.hrpkg");
  auto before = openFiles();
  for (int i = 0; i < 50; ++i)
    Package::open(folder / "test.hrpkg");
  EXPECT_EQ(openFiles(), before);
}

} // namespace
} // namespace headrace::test
