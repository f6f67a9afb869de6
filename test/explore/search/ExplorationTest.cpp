#include "explore/search/Exploration.h"

#include "explore/graph/Graphs.h"
#include "explore/graph/Measures.h"
#include "explore/operators/SizedProgram.h"
#include "explore/schedule/Gantt.h"

namespace headrace::explore::test {
namespace {

constexpr const char *convolution = R"({"name": "convolution", "input": [1, 28, 28],
  "operators": [{"name": "conv1", "op": "convolution", "filters": [6, 5, 5]}]})";

int64_t makespan(const OperatorGraph &program, int number, Form form, Convention convention,
                 int elements) {
  std::vector<Form> forms(program.operators.size(), form);
  TaskGraph graph = taskGraphOf(program, forms, {.convention = convention}, number);
  return evaluate("", graph, elements, {.partitioner = {}, .simulate = false}).schedule.makespan;
}

TEST(ExplorationTest, AllSixMakespansOfTheTableUnderItsConvention) {
  OperatorGraph program = parseSizedProgram(convolution, "c.json");
  auto at = [&](Form form, int elements) {
    return makespan(program, 1, form, Convention::Slide, elements);
  };
  EXPECT_EQ(at(Form::MatrixVector, 16), 145729);
  EXPECT_EQ(at(Form::MatrixVector, 128), 35137);
  EXPECT_EQ(at(Form::OuterProduct, 16), 194113);
  EXPECT_EQ(at(Form::OuterProduct, 128), 107713);
  EXPECT_EQ(at(Form::LeftMatrixVector, 16), 35714);
  EXPECT_EQ(at(Form::LeftMatrixVector, 128), 35714);
}

TEST(ExplorationTest, TheSameWithTightVolumes) {
  OperatorGraph program = parseSizedProgram(convolution, "c.json");
  auto at = [&](Form form, int elements) {
    return makespan(program, 1, form, Convention::Tight, elements);
  };
  EXPECT_NEAR(double(at(Form::MatrixVector, 16)) / 26.9e3, 1, 0.01);
  EXPECT_NEAR(double(at(Form::MatrixVector, 128)) / 22.1e3, 1, 0.01);
  EXPECT_NEAR(double(at(Form::OuterProduct, 16)) / 31.7e3, 1, 0.01);
  EXPECT_NEAR(double(at(Form::OuterProduct, 128)) / 21.3e3, 1, 0.01);
  EXPECT_NEAR(double(at(Form::LeftMatrixVector, 16)) / 32.3e3, 1, 0.01);
  EXPECT_NEAR(double(at(Form::LeftMatrixVector, 128)) / 32.3e3, 1, 0.01);
}

// One form for all convolutions would not do: with 16 processing elements they want different ones.
TEST(ExplorationTest, NoFormWinsEverywhere) {
  OperatorGraph program = parseSizedProgram(
      R"({"input": [1, 28, 28], "operators": [
          {"name": "conv1", "op": "convolution", "filters": [6, 5, 5]},
          {"name": "pool1", "op": "max-pool", "window": [2, 2]},
          {"name": "conv2", "op": "convolution", "filters": [16, 5, 5]}]})",
      "c.json");
  auto best = [&](int number, int elements) {
    std::pair<int64_t, Form> least{INT64_MAX, Form::Direct};
    for (Form form : {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector})
      least = std::min(least, {makespan(program, number, form, Convention::Slide, elements), form});
    return least.second;
  };
  EXPECT_EQ(best(1, 16), Form::LeftMatrixVector);
  EXPECT_EQ(best(3, 16), Form::MatrixVector);
  EXPECT_EQ(best(1, 128), Form::MatrixVector);
  EXPECT_EQ(best(3, 128), Form::MatrixVector);
}

TEST(ExplorationTest, EveryOperatorOfANetworkBecomesTasksThatNameIt) {
  OperatorGraph program = parseSizedProgram(
      R"({"input": [1, 8, 8], "operators": [
          {"name": "conv", "op": "convolution", "filters": [2, 3, 3], "place": "net.py:3"},
          {"name": "relu", "op": "element-wise"}, {"name": "pool", "op": "max-pool", "window": [2, 2]},
          {"name": "view", "op": "view", "shape": [18]}, {"name": "fc", "op": "linear", "outputs": 4},
          {"name": "softmax", "op": "softmax"}]})",
      "n.json");
  for (Form form : {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector})
    for (Convention convention : {Convention::Tight, Convention::Slide}) {
      std::vector<Form> forms(program.operators.size(), form);
      TaskGraph graph = taskGraphOf(program, forms, {.convention = convention});
      std::map<std::string, int> tasks;
      for (const Task &task : graph.tasks())
        for (const std::string &name : task.operators)
          ++tasks[name];
      EXPECT_EQ(tasks["relu"], 1);
      EXPECT_EQ(tasks["pool"], 1);
      EXPECT_EQ(tasks["softmax"], 6);
      EXPECT_FALSE(tasks.contains("view"));
      EXPECT_EQ(graph.tasks()[1].place, "net.py:3");
      Outcome outcome = evaluate("", graph, 4, {});
      EXPECT_EQ(outcome.deadlock, "");
      EXPECT_NEAR(double(*outcome.simulated) / double(outcome.schedule.makespan), 1, 0.05);
    }
}

TEST(ExplorationTest, ErrorsNameTheOperator) {
  auto fault = [](const std::string &operators) {
    return errorOf([&] {
      parseSizedProgram(R"({"input": [1, 8, 8], "operators": [)" + operators + "]}", "n.json");
    });
  };
  EXPECT_EQ(fault(R"({"name": "c", "op": "convolution", "filters": [2, 9, 3]})"),
            "n.json: operator 'c': expected filters of at most 8x8, got 9x3");
  EXPECT_EQ(fault(R"({"name": "f", "op": "linear", "outputs": 3})"),
            "n.json: operator 'f': expected a vector (a view makes one), got 1x8x8");
  EXPECT_EQ(fault(R"({"name": "v", "op": "view", "shape": [63]})"),
            "n.json: operator 'v': shape: expected 64 elements, got 63");
  EXPECT_EQ(fault(R"({"name": "x", "op": "fold"})"),
            "n.json: operator 'x': expected the operator convolution, linear, element-wise, "
            "max-pool, view "
            "or softmax, got 'fold'");
  EXPECT_EQ(fault(""), "n.json: operators: expected at least one");
}

TEST(ExplorationTest, OutcomesThatOthersBeatAreNotMarked) {
  auto outcome = [](int64_t offChip, int64_t makespan, int64_t buffers) {
    Outcome result;
    result.offChip = offChip;
    result.schedule.makespan = makespan;
    result.buffers = buffers;
    return result;
  };
  std::vector<Outcome> outcomes = {outcome(1, 9, 9), outcome(2, 2, 2), outcome(3, 2, 2),
                                   outcome(2, 2, 2)};
  compare(outcomes);
  EXPECT_TRUE(outcomes[0].pareto);
  EXPECT_TRUE(outcomes[1].pareto);
  EXPECT_FALSE(outcomes[2].pareto);
  EXPECT_TRUE(outcomes[3].pareto);
}

TEST(ExplorationTest, AGanttChartHasABarForEveryTask) {
  TaskGraph graph = graphOf({{"a", {8, 8}}, {"b<&", {8, 8}}}, {{"a", "b<&"}});
  std::string svg = ganttSvg(graph, schedule(graph, {.processingElements = 2}), "two");
  EXPECT_NE(svg.find("<title>a: 0 to 8</title>"), std::string::npos);
  EXPECT_NE(svg.find("<title>b&lt;&amp;: 1 to 9</title>"), std::string::npos);
}

} // namespace
} // namespace headrace::explore::test
