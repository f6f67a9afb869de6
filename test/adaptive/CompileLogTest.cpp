#include "adaptive/CompileLog.h"

#include "adaptive/VersionStore.h"
#include <gtest/gtest.h>

namespace headrace::adaptive {
namespace {

class CompileLog : public testing::Test {
protected:
  void SetUp() override {
    logCompilations([this](const std::string &line) { lines.push_back(line); });
  }
  void TearDown() override { logCompilations(nullptr); }

  std::vector<std::string> lines;
};

TEST_F(CompileLog, ALineHasSizesCauseAndMilliseconds) {
  logVersion(VersionEvent::Compiled, {"digits.onnx", "batch >= 2"}, "first call", 81.25);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].ends_with("s] compiled digits.onnx (batch >= 2) in 81.2 ms: first call"))
      << lines[0];
}

TEST_F(CompileLog, AStoreLogsWhatItDrops) {
  VersionStore<int, const int> store(
      1, [](int key, int) { return VersionName{"model", "n = " + std::to_string(key)}; });
  store.add(5, std::make_shared<const int>(0));
  EXPECT_TRUE(lines.empty());
  store.add(6, std::make_shared<const int>(0));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("dropped model (n = 5): the least recently used, of at most 1"),
            std::string::npos)
      << lines[0];
}

TEST_F(CompileLog, NothingIsWrittenWhenItIsOff) {
  logCompilations(nullptr);
  EXPECT_FALSE(isCompilationLogged());
  logVersion(VersionEvent::Kept, {"m", ""}, "");
  EXPECT_TRUE(lines.empty());
}

TEST_F(CompileLog, ControlCharactersOfNamesStayOnTheLine) {
  logVersion(VersionEvent::Dropped, {"a\nb", ""}, "");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find('\n'), std::string::npos);
}

} // namespace
} // namespace headrace::adaptive
