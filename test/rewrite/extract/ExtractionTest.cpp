#include "rewrite/extract/Extraction.h"

#include "rewrite/Fixture.h"
#include "rewrite/extract/Choices.h"

#include <limits>

namespace headrace::rewrite {

class ExtractionTest : public RewriteTest {};

TEST_F(ExtractionTest, SharedTermsArePaidOnce) {
  EGraph graph(vocabulary);
  ClassId root = graph.add(terms, term("pair(big(a), big(a))"));
  graph.merge(root, graph.add(terms, term("pair(small(b), small(c))")));
  graph.rebuild();
  NodeCount model;
  model.costs = {{"big", 10}, {"small", 7}};
  Extraction result = extract(graph, root, model, terms);
  EXPECT_EQ(result.method, ExtractionMethod::Exact);
  EXPECT_EQ(result.cost, 12); // 1 + 10 + 1, if the other is 1 + 14 + 2
  EXPECT_EQ(print(terms, result.term), "pair(big(a), big(a))");
}

TEST_F(ExtractionTest, CyclesAreNeverChosenEvenWhereTheyAreFree) {
  EGraph graph(vocabulary);
  ClassId a = graph.add(terms, term("costly")), b = graph.add(terms, term("view(costly)"));
  graph.merge(a, graph.add(terms, term("unview(view(costly))")));
  graph.merge(b, graph.add(terms, term("view(view(costly))")));
  graph.rebuild();
  NodeCount model;
  model.costs = {{"costly", 50}, {"view", 0}, {"unview", 0}};
  for (size_t classes : {size_t{0}, size_t{1000}}) {
    Extraction result = extract(graph, b, model, terms, {.exactClasses = classes});
    EXPECT_EQ(result.cost, 50);
    EXPECT_EQ(print(terms, result.term), "view(costly)");
  }
}

TEST_F(ExtractionTest, InfiniteCostsAreRefusedOrAvoided) {
  EGraph graph(vocabulary);
  ClassId root = graph.add(terms, term("f(bad)"));
  graph.rebuild();
  NodeCount model;
  model.costs = {{"bad", std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(errorOf([&] { extract(graph, root, model, terms); }),
            "every term of the class has infinite cost");
  graph.merge(root, graph.add(terms, term("g(g(g(ok)))")));
  graph.rebuild();
  EXPECT_EQ(print(terms, extract(graph, root, model, terms).term), "g(g(g(ok)))");
}

TEST_F(ExtractionTest, BeyondTheLimitOfStepsTheMethodIsGreedy) {
  // One input on two ways, of which a bound sees the dearer one.
  EGraph graph(vocabulary);
  ClassId root = graph.add(terms, term("pair(big(a), small(a))"));
  graph.merge(root, graph.add(terms, term("pair(big(b), small(b))")));
  graph.rebuild();
  NodeCount model;
  model.costs = {{"big", 10}, {"small", 7}};
  for (const ExtractionLimits &limits :
       {ExtractionLimits{.exactSteps = 1}, ExtractionLimits{.exactClasses = 2}}) {
    Extraction result = extract(graph, root, model, terms, limits);
    EXPECT_EQ(result.method, ExtractionMethod::Greedy);
    EXPECT_LT(result.least, result.cost);
  }
}

TEST_F(ExtractionTest, WhatIsDoneToEachInputIsPaid) {
  EGraph graph(vocabulary);
  ClassId root = graph.add(terms, term("pair(big(a), small(b))"));
  graph.merge(root, graph.add(terms, term("pair(big(view(a)), small(view(b)))")));
  graph.rebuild();
  NodeCount model;
  model.costs = {{"big", 10}, {"small", 7}, {"view", 0.0001}};
  Extraction result = extract(graph, root, model, terms, {.exactClasses = 0});
  EXPECT_EQ(result.method, ExtractionMethod::Exact); // by the bound alone
  EXPECT_EQ(result.cost, 20);
  EXPECT_EQ(result.least, 20);
}

namespace {

// All selections, one after the other.
double bruteForce(const Choices &choices) {
  double best = std::numeric_limits<double>::infinity();
  Selection selection(choices.classes.size(), 0);
  while (true) {
    best = std::min(best, costOf(choices, selection));
    size_t i = 0;
    while (i < selection.size() && ++selection[i] == choices.classes[i].size())
      selection[i++] = 0;
    if (i == selection.size())
      return best;
  }
}

class RandomCosts : public CostModel {
public:
  double costOf(const EGraph &graph, NodeId node) const override {
    return graph.opOf(node).attributes[1].value;
  }
};

// Few classes with several nodes each, edges in all directions: cycles and sharing.
ClassId makeRandomGraph(EGraph &graph, std::mt19937 &random, unsigned classCount) {
  Vocabulary &words = graph.vocabulary();
  std::vector<ClassId> classes;
  int64_t serial = 0;
  auto attributes = [&](unsigned cost) {
    return std::vector{Attribute::number(serial++), Attribute::number(cost)};
  };
  for (unsigned i = 0; i < classCount; ++i)
    classes.push_back(graph.add(words.op("leaf", attributes(8 + random() % 30)),
                                std::initializer_list<ClassId>{}));
  for (unsigned i = 0; i < classCount; ++i)
    for (unsigned n = random() % 4; n-- > 0;) {
      std::vector<ClassId> operands;
      for (unsigned k = 1 + random() % 3; k-- > 0;)
        operands.push_back(classes[random() % classCount]);
      graph.merge(classes[i], graph.add(words.op("op", attributes(random() % 6)), operands));
    }
  ClassId root = graph.add(words.op("root", attributes(0)), {classes[0], classes[1], classes[2]});
  graph.rebuild();
  return root;
}

} // namespace

TEST_F(ExtractionTest, ExactIsTheMinimumOfAllSelectionsOnRandomGraphs) {
  size_t greedyWasWorse = 0, boundWasLeast = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    Vocabulary words;
    EGraph graph(words);
    ClassId root = makeRandomGraph(graph, random, 4 + seed % 6);
    Terms into(words);
    double expected = bruteForce(choicesFor(graph, root, RandomCosts()));
    Extraction exact = extract(graph, root, RandomCosts(), into);
    ASSERT_EQ(exact.method, ExtractionMethod::Exact);
    ASSERT_EQ(exact.cost, expected) << "seed " << seed;
    Extraction greedy = extract(graph, root, RandomCosts(), into, {.exactClasses = 0});
    ASSERT_GE(greedy.cost, expected);
    ASSERT_LE(greedy.least, expected);
    ASSERT_EQ(greedy.method == ExtractionMethod::Exact, greedy.cost == greedy.least);
    greedyWasWorse += greedy.cost > expected;
    boundWasLeast += greedy.least == expected;
    // The term has that cost, too, and is a term of the class.
    double sum = 0;
    for (TermId id : into.reachableFrom(exact.term))
      sum += static_cast<double>(into.opOf(id).attributes[1].value);
    EXPECT_EQ(sum, exact.cost);
    EXPECT_EQ(graph.find(graph.add(into, exact.term)), graph.find(root));
  }
  EXPECT_LT(greedyWasWorse, 50u);
  EXPECT_GT(boundWasLeast, 10u);
}

TEST_F(ExtractionTest, GreedyFindsTheTermOfLargeGraphs) {
  std::mt19937 random(1);
  Vocabulary words;
  EGraph graph(words);
  ClassId root = makeRandomGraph(graph, random, 20000);
  Terms into(words);
  Extraction result = extract(graph, root, RandomCosts(), into);
  EXPECT_EQ(result.method, ExtractionMethod::Greedy);
  EXPECT_EQ(graph.find(graph.add(into, result.term)), graph.find(root));
}

} // namespace headrace::rewrite
