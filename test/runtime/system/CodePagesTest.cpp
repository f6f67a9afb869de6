#include "runtime/system/CodePages.h"

#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace headrace {
namespace {

/// Kilobytes of this program's code that are in memory.
size_t residentCode() {
  std::ifstream maps("/proc/self/smaps");
  auto here = reinterpret_cast<uintptr_t>(&residentCode);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-')
      inside = begin <= here && here < end;
    else if (inside && line.starts_with("Rss:"))
      return std::stoul(line.substr(4));
  }
  return 0;
}

void touchAllCode() {
  volatile int sum = 0;
  auto here = reinterpret_cast<uintptr_t>(&residentCode) / 4096 * 4096;
  for (uintptr_t page = here; page < here + 64 * 4096; page += 4096)
    sum = sum + *reinterpret_cast<const volatile unsigned char *>(page);
}

/// A function alone on its page, so that writing to it changes nothing that runs meanwhile.
__attribute__((aligned(4096), noinline)) int answer() { return 42; }
__attribute__((aligned(4096), noinline)) int behindAnswer() { return 43; }

class CodePages : public testing::Test {
protected:
  void SetUp() override {
    if (::access("/proc/self/pagemap", R_OK) != 0 || residentCode() == 0)
      GTEST_SKIP() << "this system does not tell which pages are in memory";
  }
};

TEST_F(CodePages, ThoseOfTheOwnCodeGoAndComeBackAsItRuns) {
  touchAllCode();
  size_t before = residentCode();
  returnCodePages({});
  size_t after = residentCode();
  EXPECT_LT(after, before);
  EXPECT_EQ(answer(), 42);
}

/// Sanitizers keep no record of writes to code.
__attribute__((no_sanitize("thread", "address"))) void change(unsigned char *code,
                                                              unsigned char value) {
  *code = value;
}

TEST_F(CodePages, ThoseThatSomebodyChangedStay) {
  // As a debugger does it: the page becomes the process's own copy.
  auto *page = reinterpret_cast<unsigned char *>(&answer);
  if (::mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    GTEST_SKIP() << "this system does not let a process write to its code";
  unsigned char old = *page;
  change(page, 0xcc);
  ASSERT_EQ(::mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
  returnCodePages({});
  EXPECT_EQ(*page, 0xcc);
  ASSERT_EQ(::mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  change(page, old);
  ASSERT_EQ(::mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
  EXPECT_EQ(answer() + behindAnswer(), 85);
}

} // namespace
} // namespace headrace
