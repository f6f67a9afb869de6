#include "studio/server/Steps.h"

#include "studio/server/Command.h"
#include "studio/server/ViewJson.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace headrace::studio;

TEST(Steps, ALaterStepTakesThePlaceOfAnEarlierOne) {
  std::string recipe = withStep("", "fuse relu1 into conv1");
  recipe = withStep(recipe, "layout conv1 channels-first");
  recipe = withStep(recipe, "separate relu1");
  EXPECT_EQ(recipe, "layout conv1 channels-first\nseparate relu1\n");
  EXPECT_EQ(withStep(recipe, "layout conv1 channels-last"),
            "separate relu1\nlayout conv1 channels-last\n");
  EXPECT_EQ(withStep(recipe, "fold bn1 into conv1"), recipe + "fold bn1 into conv1\n");
}

TEST(Steps, KernelsComeWithTheirLines) {
  std::string first = "kernel conv1:\n  map: plain cells=16",
              second = "kernel conv1:\n  map: tiles";
  EXPECT_EQ(withStep(withStep("plan kernels greedily", first), second),
            "plan kernels greedily\n" + second + "\n");
  EXPECT_EQ(stepsOf("# note\n\n" + first + "\nleave bn1\n").size(), 2u);
}

TEST(Steps, SelectorsOfOperatorsAreTheirSubject) {
  EXPECT_EQ(subjectOf("expand every contract as openblas"), "expand every contract");
  EXPECT_EQ(subjectOf("expand every conv of 1x1 as generated"), "expand every conv of 1x1");
}

TEST(ViewJson, NamesAreInertWithinAScript) {
  std::string text = inertText({{"name", "</script><img>\xff\xc3\xbc\u2028"}});
  EXPECT_EQ(text.find('<'), std::string::npos);
  for (char c : text)
    EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_EQ(nlohmann::json::parse(text)["name"].get<std::string>().substr(0, 14), "</script><img>");
}

TEST(Command, RunsAndReportsErrors) {
  Command shell({"/bin/sh", "-c"});
  CommandResult good = shell.run({"echo out; echo log >&2"});
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.output, "out\n");
  CommandResult bad = shell.run({"echo 'headrace: error: conv1: expected 3, got 2' >&2; exit 1"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.error, "conv1: expected 3, got 2");
  EXPECT_NE(shell.run({"kill -SEGV $$"}).error.find("signal 11"), std::string::npos);
  shell.cancel(true);
  EXPECT_NE(shell.run({"true"}).code, 0);
}

TEST(Command, LinesAreForShells) {
  EXPECT_EQ(shellText({"headrace", "explain", "my model.onnx", "a'b"}),
            "headrace explain 'my model.onnx' 'a'\\''b'");
}
