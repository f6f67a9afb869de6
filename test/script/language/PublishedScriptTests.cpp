#include "ScriptHelpers.h"
#include <algorithm>

namespace fs = std::filesystem;

namespace headrace::script {
namespace {

/// The scripts that SystemDS publishes; `bench/scripts/fetch_systemds_scripts.py` fetches them.
class PublishedScripts : public testing::Test {
protected:
  void SetUp() override {
    if (!fs::is_directory(root / "scripts" / "builtin"))
      GTEST_SKIP() << "no scripts in " << root
                   << ": fetch them with bench/scripts/fetch_systemds_scripts.py";
  }

  std::vector<fs::path> scripts(const fs::path &folder) const {
    std::vector<fs::path> files;
    for (const auto &entry : fs::recursive_directory_iterator(root / "scripts" / folder))
      if (entry.path().extension() == ".dml")
        files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  }

  static Script read(const fs::path &file) {
    return parse(std::make_shared<Source>(Source::read(file)));
  }

  fs::path root = HEADRACE_SYSTEMDS_SCRIPTS;
};

TEST_F(PublishedScripts, AllParseAndPrint) {
  std::vector<fs::path> files = scripts("");
  EXPECT_EQ(files.size(), 316U);
  for (const fs::path &file : files) {
    Script script = read(file);
    EXPECT_EQ(print(parsed(print(script)), Parentheses::Full), print(script, Parentheses::Full))
        << file;
  }
}

// The four that do not: three source files that are not published, one leaves out an argument.
TEST_F(PublishedScripts, BuiltinScriptsAreAnalyzed) {
  AnalysisOptions options;
  options.allFunctions = true;
  options.scriptPath = {root / "scripts" / "builtin", root / "scripts", root};
  std::vector<std::string> refused;
  std::vector<fs::path> files = scripts("builtin");
  EXPECT_EQ(files.size(), 199U);
  for (const fs::path &file : files) {
    try {
      analyze(read(file), options);
    } catch (const Error &error) {
      refused.push_back(file.stem().string());
    }
  }
  EXPECT_EQ(refused,
            (std::vector<std::string>{"dedup", "deepWalk", "sherlock", "sherlockPredict"}));
}

TEST_F(PublishedScripts, AFunctionRunsWithoutSource) {
  AnalysisOptions options;
  options.scriptPath = {root / "scripts" / "builtin"};
  options.inputs = {{"X", Type::matrix()}, {"y", Type::matrix()}};
  options.outputs = {"B"};
  Program program = analyzed("B = lm(X = X, y = y, reg = 0.1, verbose = FALSE)", options);
  std::vector<std::string> names;
  for (const auto &function : program.functions)
    names.push_back(function->name);
  EXPECT_EQ(names, (std::vector<std::string>{"m_lm", "m_lmDS", "m_lmCG"}));
}

} // namespace
} // namespace headrace::script
