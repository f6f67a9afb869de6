// Search over the forms of whole programs, and the choice for a machine.
#include "explore/graph/Graphs.h"
#include "explore/operators/SizedProgram.h"
#include "explore/search/ParetoPlot.h"
#include "explore/search/ProgramExploration.h"

namespace headrace::explore::test {
namespace {

OperatorGraph network() {
  return parseSizedProgram(R"({"name": "net", "input": [1, 12, 12], "operators": [
      {"name": "conv1", "op": "convolution", "filters": [3, 3, 3]},
      {"name": "relu1", "op": "element-wise"},
      {"name": "pool1", "op": "max-pool", "window": [2, 2]},
      {"name": "conv2", "op": "convolution", "filters": [4, 3, 3]},
      {"name": "view", "op": "view", "shape": [36]},
      {"name": "fc1", "op": "linear", "outputs": 36},
      {"name": "fc2", "op": "linear", "outputs": 36},
      {"name": "softmax", "op": "softmax"}]})",
                           "net.json");
}

TEST(SearchTest, FindsNothingSlowerThanTheFastestFormOfEachOperator) {
  ExploreOptions options{.processingElements = {4, 16}, .partitioner = {}};
  std::vector<Exploration> tables = exploreOperators(network(), options, {});
  const Exploration &whole = tables.back();
  EXPECT_EQ(whole.name, "net");
  for (int elements : options.processingElements) {
    int64_t each = 0, best = INT64_MAX;
    for (const Outcome &outcome : whole.outcomes)
      if (outcome.processingElements() == elements) {
        best = std::min(best, outcome.schedule.makespan);
        if (outcome.implementation.find("fastest each") != std::string::npos)
          each = outcome.schedule.makespan;
      }
    EXPECT_GT(each, 0);
    EXPECT_LE(best, each);
  }
}

TEST(SearchTest, OperatorsOfEqualSizesTakeEqualForms) {
  std::vector<Choice> choices = choicesOf(network());
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices.back().operators.size(), 2u);
  ExploreOptions options{.processingElements = {4}, .partitioner = {}, .simulate = false};
  std::vector<Exploration> tables = exploreOperators(network(), options, {});
  EXPECT_EQ(tables[2].name, "fc1");
  EXPECT_EQ(tables[2].remarks.front(), "of the same sizes: fc2");
  EXPECT_NE(tables.back().outcomes.front().forms.find("fc1 and 1 like it mv"), std::string::npos);
}

TEST(SearchTest, WhereAllCombinationsAreScheduledTheFastestIsFound) {
  ExploreOptions options{
      .processingElements = {8}, .partitioner = {}, .simulate = false, .evaluations = 48};
  Exploration whole = exploreOperators(network(), options, {}).back();
  EXPECT_EQ(whole.remarks.front(), "48 of 48 combinations scheduled");
  int64_t fastest = INT64_MAX;
  std::vector<Form> linear = {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector};
  std::vector<Form> conv = linear;
  conv.push_back(Form::Direct);
  for (Form first : conv)
    for (Form second : conv)
      for (Form third : linear) {
        OperatorGraph program = network();
        std::vector<Form> forms(program.operators.size(), third);
        forms[1] = first;
        forms[4] = second;
        Outcome outcome = scheduled("", taskGraphOf(program, forms, {}), 8, options);
        fastest = std::min(fastest, outcome.schedule.makespan);
        bool isBeyond = std::ranges::any_of(
            whole.outcomes, [&](const Outcome &o) { return o.pareto && isBetter(outcome, o); });
        EXPECT_FALSE(isBeyond) << nameOf(first) << " " << nameOf(second) << " " << nameOf(third);
      }
  int64_t found = INT64_MAX;
  for (const Outcome &outcome : whole.outcomes)
    found = std::min(found, outcome.schedule.makespan);
  EXPECT_EQ(found, fastest);
}

TEST(SearchTest, AMachineWithLittleBandwidthOrMemoryChangesTheChoice) {
  auto outcome = [](const char *name, int64_t offChip, int64_t makespan, int64_t buffers) {
    Outcome result;
    result.implementation = name;
    result.offChip = offChip;
    result.schedule.makespan = makespan;
    result.schedule.options.processingElements = 16;
    result.buffers = buffers;
    return result;
  };
  std::vector<Outcome> outcomes = {outcome("fast", 1000, 10, 500), outcome("small", 100, 60, 5),
                                   outcome("frugal", 20, 80, 90)};
  auto chosen = [&](ArrayMachine machine) {
    const Outcome *found = chooseFor(machine, outcomes, 16).outcome;
    return found ? found->implementation : "none";
  };
  EXPECT_EQ(chosen({}), "fast");
  EXPECT_EQ(chosen({.bandwidth = 2, .memory = {}}), "small");
  EXPECT_EQ(chosen({.bandwidth = 0.5, .memory = {}}), "frugal");
  EXPECT_EQ(chosen({.bandwidth = {}, .memory = 100}), "small");
  EXPECT_EQ(chosen({.bandwidth = {}, .memory = 1}), "none");
  EXPECT_EQ(chooseFor({.bandwidth = 3, .memory = {}}, {outcomes[0]}, 16).cycles, 334);
  EXPECT_EQ(chooseFor({}, outcomes, 8).outcome, nullptr);
}

TEST(SearchTest, WhatIsFasterWithoutStreamsRunsWithout) {
  Outcome outcome;
  outcome.implementation = "mv";
  outcome.schedule.makespan = 100;
  outcome.schedule.options.processingElements = 16;
  outcome.offChip = 10;
  outcome.buffers = 7;
  outcome.baseline = 90;
  outcome.baselineOffChip = 40;
  std::vector<Outcome> outcomes = {outcome};
  Chosen chosen = chooseFor({}, outcomes, 16);
  EXPECT_EQ(chosen.text(), "mv, without streams");
  EXPECT_EQ(chosen.cycles, 90);
  // It moves more, and needs no buffers.
  EXPECT_EQ(chooseFor({.bandwidth = 0.25, .memory = {}}, outcomes, 16).text(), "mv");
  EXPECT_FALSE(chooseFor({.bandwidth = 0.25, .memory = 6}, outcomes, 16).streams);
}

TEST(SearchTest, NoScheduleIsBelowTheBoundsOfItsGraph) {
  ExploreOptions options{.processingElements = {2, 8, 64}, .partitioner = {}, .simulate = false};
  ArrayMachine machine{.bandwidth = 0.5, .memory = {}};
  for (const Exploration &exploration : exploreOperators(network(), options, machine))
    for (const Outcome &outcome : exploration.outcomes) {
      int64_t least = lowerBound({}, outcome).cycles;
      EXPECT_LE(least, outcome.schedule.makespan) << outcome.implementation;
      EXPECT_LE(least, *outcome.baseline) << outcome.implementation;
      EXPECT_LE(outcome.minOffChip, outcome.offChip) << outcome.implementation;
      EXPECT_LE(outcome.offChip, outcome.baselineOffChip) << outcome.implementation;
      EXPECT_GE(lowerBound(machine, outcome).cycles, least);
    }
}

TEST(SearchTest, SpeedupsOfOneProgramDivideTheSameWork) {
  ExploreOptions options{.processingElements = {8}, .partitioner = {}, .simulate = false};
  for (const Exploration &exploration : exploreOperators(network(), options, {})) {
    const Outcome &first = exploration.outcomes.front();
    for (const Outcome &outcome : exploration.outcomes) {
      EXPECT_EQ(outcome.comparedWork, first.comparedWork);
      EXPECT_LE(outcome.comparedWork, outcome.work);
    }
  }
}

TEST(SearchTest, PartsThatRunOneAfterTheOtherAddUp) {
  ExploreOptions options{.processingElements = {4}, .partitioner = {}, .simulate = false};
  Exploration part = exploreOperators(network(), options, {}).back();
  Exploration whole = exploreSequence("script", {part, part}, {1, 5}, options, {});
  ASSERT_EQ(whole.sequences.size(), 1u);
  int64_t once = chooseFor({}, part.outcomes, 4).cycles;
  EXPECT_EQ(whole.sequences[0].parts[1].cycles, 5 * once);
  EXPECT_EQ(whole.sequences[0].total().cycles, 6 * once);
  EXPECT_TRUE(whole.outcomes.empty());
}

TEST(SearchTest, RivalsStandInOneTable) {
  ExploreOptions options{.processingElements = {4}, .partitioner = {}, .simulate = false};
  Exploration first = exploreOperators(network(), options, {}).back(), second = first;
  second.name = "other";
  Exploration rivals = exploreRivals({first, second}, options, {});
  EXPECT_TRUE(rivals.outcomes.front().implementation.starts_with("net: "));
  EXPECT_TRUE(rivals.outcomes.back().implementation.starts_with("other: "));
}

TEST(SearchTest, APlotHasACircleForEveryOutcome) {
  ExploreOptions options{.processingElements = {4, 16}, .partitioner = {}, .simulate = false};
  Exploration conv = exploreOperators(network(), options, {}).front();
  std::string svg = paretoSvg(conv.outcomes, "<conv>");
  size_t notes = 0;
  for (size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1))
    ++notes;
  EXPECT_EQ(notes, conv.outcomes.size());
  EXPECT_NE(svg.find("&lt;conv>"), std::string::npos);
  EXPECT_EQ(paretoSvg({}, "none").find("<circle"), std::string::npos);
}

} // namespace
} // namespace headrace::explore::test
