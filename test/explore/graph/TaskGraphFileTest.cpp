#include "explore/graph/TaskGraphFile.h"

#include "explore/graph/Graphs.h"

namespace headrace::explore::test {
namespace {

constexpr const char *chain = R"({"name": "chain",
 "tasks": [{"name": "in", "kind": "source"},
           {"name": "relu", "kind": "element-wise", "input": 32, "output": 32,
            "operators": ["Relu_1", "Add_2"], "place": "net.py:7"},
           {"name": "all", "kind": "buffer", "input": 32, "output": 32},
           {"name": "sum", "input": 32, "output": 1},
           {"name": "out", "kind": "sink"}],
 "edges": [["in", "relu"], ["relu", "all"], ["all", "sum"], ["sum", "out"]]})";

std::string errorOfText(std::string text, const std::string &old, const std::string &now) {
  text.replace(text.find(old), old.size(), now);
  return errorOf([&] { parseTaskGraph(text, "g.json"); });
}

TEST(TaskGraphFileTest, ReadsTasksAndWhereTheyCameFrom) {
  TaskGraph graph = parseTaskGraph(chain, "g.json");
  EXPECT_EQ(graph.name, "chain");
  ASSERT_EQ(graph.size(), 5);
  EXPECT_EQ(graph.tasks()[1].operators, (std::vector<std::string>{"Relu_1", "Add_2"}));
  EXPECT_EQ(graph.tasks()[1].place, "net.py:7");
  EXPECT_EQ(graph.tasks()[3].kindName(), "downsampler");
}

TEST(TaskGraphFileTest, WritesWhatItReads) {
  std::string text = taskGraphText(parseTaskGraph(chain, "g.json"));
  EXPECT_EQ(taskGraphText(parseTaskGraph(text, "again")), text);
  EXPECT_NE(text.find("\"downsampler\""), std::string::npos);
  EXPECT_NE(text.find("net.py:7"), std::string::npos);
}

TEST(TaskGraphFileTest, ErrorsNameTheFileAndTheTask) {
  EXPECT_EQ(
      errorOfText(chain, "\"element-wise\"", "\"upsampler\""),
      "g.json: task 'relu': expected output > input of the kind upsampler, got an input of 32 "
      "and an output of 32");
  EXPECT_EQ(errorOfText(chain, "\"element-wise\"", "\"filter\""),
            "g.json: task 'relu': expected the kind source, sink, buffer, task, element-wise, "
            "downsampler or upsampler, got 'filter'");
  EXPECT_EQ(errorOfText(chain, "\"input\": 32, ", ""), "g.json: task 'relu': expected 'input'");
  EXPECT_EQ(errorOfText(chain, "\"place\"", "\"plaice\""), "g.json: there is no key 'plaice'");
  EXPECT_EQ(errorOfText(chain, "[\"in\", \"relu\"]", "[\"in\", \"gelu\"]"),
            "g.json: edges: there is no task 'gelu'");
  EXPECT_EQ(errorOfText(chain, "[\"in\", \"relu\"]", "[\"in\"]"),
            "g.json: edges: expected pairs of tasks' names, got [\"in\"]");
  EXPECT_EQ(
      errorOfText(chain, "\"input\": 32", "\"input\": 31"),
      "g.json: task 'relu': expected output = input of the kind element-wise, got an input of 31 "
      "and an output of 32");
  EXPECT_EQ(
      errorOfText(chain, "\"output\": 1}", "\"output\": 1.5}"),
      "g.json: task 'sum': expected a number from -9223372036854775808 to 9223372036854775807, "
      "got 1.5");
}

TEST(TaskGraphFileTest, WhatIsNoGraphIsRefused) {
  for (const char *text : {"", "[]", "{", "7", R"({"tasks": 3, "edges": []})", R"({"tasks": []})",
                           R"({"tasks": [7], "edges": []})", R"({"tasks": [], "edges": []})"})
    EXPECT_THROW(parseTaskGraph(text, "g.json"), Error) << text;
  EXPECT_THROW(parseTaskGraph(std::string(1000, '['), "g.json"), Error);
  EXPECT_THROW(readTaskGraph("/nowhere/graph.json"), Error);
}

} // namespace
} // namespace headrace::explore::test
