#include "rewrite/egraph/Saturation.h"

#include "rewrite/Fixture.h"

namespace headrace::rewrite {

namespace {

const char *const commutative = "rule swap add(?a, ?b) => add(?b, ?a)\n"
                                "rule left add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))\n"
                                "rule right add(?a, add(?b, ?c)) => add(add(?a, ?b), ?c)\n";

std::string sumOf(int count) {
  std::string sum = "leaf[0]";
  for (int i = 1; i < count; ++i)
    sum = "add(" + sum + ", leaf[" + std::to_string(i) + "])";
  return sum;
}

// size(?x) of leaf[n] is n; else unknown.
class LeafSizes : public Facts {
public:
  explicit LeafSizes(const EGraph &graph) : graph(graph) {}
  std::optional<int64_t> call(Name function, std::span<const Argument> arguments) const override {
    if (graph.vocabulary().text(function) != "size" || !arguments[0].subject)
      return {};
    for (NodeId node : graph.nodesOf(*arguments[0].subject, graph.vocabulary().name("leaf")))
      return graph.opOf(node).attributes[0].value;
    return {};
  }

private:
  const EGraph &graph;
};

} // namespace

class SaturationTest : public RewriteTest {};

TEST_F(SaturationTest, SumsOfEightTermsSaturateWithOneClassPerSubset) {
  EGraph graph(vocabulary);
  ClassId root = graph.add(terms, term(sumOf(8)));
  Saturation result = saturate(graph, rulesOf(commutative), noFacts);
  EXPECT_EQ(result.reason, StopReason::Saturated);
  EXPECT_EQ(graph.classCount(), 255u);      // every set of leaves but the empty one
  EXPECT_EQ(graph.nodeCount(), 8u + 6050u); // 3^8 - 2*2^8 + 1 ways to split a set in two
  EXPECT_EQ(
      graph.find(root),
      graph.find(graph.add(terms, term("add(add(add(leaf[7], leaf[5]), add(leaf[3], leaf[1])), "
                                       "add(add(leaf[6], leaf[4]), add(leaf[2], leaf[0])))"))));
}

TEST_F(SaturationTest, TwoRunsAreTheSame) {
  auto instances = rulesOf(commutative);
  std::vector<size_t> counts;
  std::vector<Saturation> results;
  for (int run = 0; run < 2; ++run) {
    EGraph graph(vocabulary);
    graph.add(terms, term(sumOf(9)));
    results.push_back(saturate(graph, instances, noFacts, {.nodes = 5000, .seconds = 1000}));
    counts.push_back(graph.nodeCount());
    counts.push_back(graph.classCount());
  }
  EXPECT_EQ(counts[0], counts[2]);
  EXPECT_EQ(counts[1], counts[3]);
  for (size_t i = 0; i < results[0].uses.size(); ++i)
    EXPECT_EQ(results[0].uses[i].merges, results[1].uses[i].merges);
}

TEST_F(SaturationTest, ALimitOfNodesEndsItCleanly) {
  EGraph graph(vocabulary);
  ClassId root = graph.add(terms, term(sumOf(12)));
  Saturation result = saturate(graph, rulesOf(commutative), noFacts, {.nodes = 3000});
  EXPECT_EQ(result.reason, StopReason::Nodes);
  EXPECT_LT(graph.nodeCount(), 3010u);
  EXPECT_EQ(extract(graph, root, NodeCount(), terms).cost, 23);
}

TEST_F(SaturationTest, ALimitOfIterationsEndsIt) {
  EGraph graph(vocabulary);
  graph.add(terms, term(sumOf(8)));
  Saturation result = saturate(graph, rulesOf(commutative), noFacts, {.iterations = 2});
  EXPECT_EQ(result.reason, StopReason::Iterations);
  EXPECT_EQ(result.iterations, 2u);
}

TEST_F(SaturationTest, NoTimeEndsItBeforeItBegins) {
  EGraph graph(vocabulary);
  graph.add(terms, term(sumOf(8)));
  Saturation result = saturate(graph, rulesOf(commutative), noFacts, {.seconds = 0});
  EXPECT_EQ(result.reason, StopReason::Seconds);
  EXPECT_EQ(graph.nodeCount(), 15u);
}

TEST_F(SaturationTest, ARuleThatGrowsForeverStopsAtALimit) {
  EGraph graph(vocabulary);
  graph.add(terms, term("f[0](a)"));
  Saturation result = saturate(graph, rulesOf("rule grow f[?n](?x) => f[?n + 1](?x)"), noFacts,
                               {.nodes = 500, .iterations = 100000});
  EXPECT_EQ(result.reason, StopReason::Nodes);
}

TEST_F(SaturationTest, PausedRulesComeBackSoThatTheEndIsTheSame) {
  EGraph graph(vocabulary);
  graph.add(terms, term(sumOf(7)));
  Saturation result =
      saturate(graph, rulesOf(commutative), noFacts, {.iterations = 1000, .matches = 5});
  EXPECT_EQ(result.reason, StopReason::Saturated);
  EXPECT_EQ(graph.classCount(), 127u);
}

TEST_F(SaturationTest, ConditionsOnSizesDecide) {
  EGraph graph(vocabulary);
  ClassId even = graph.add(terms, term("f(leaf[128])")),
          odd = graph.add(terms, term("f(leaf[100])"));
  saturate(graph, rulesOf("rule halve f(?x) => g[?n / 64](?x) where ?n = size(?x), ?n % 64 == 0"),
           LeafSizes(graph));
  EXPECT_EQ(graph.find(even), graph.find(graph.add(terms, term("g[2](leaf[128])"))));
  graph.rebuild();
  EXPECT_EQ(graph.nodesOf(graph.find(odd)).size(), 1u);
}

TEST_F(SaturationTest, AVariableThatStandsTwiceIsOneClass) {
  EGraph graph(vocabulary);
  ClassId same = graph.add(terms, term("sub(f(a), f(a))")),
          other = graph.add(terms, term("sub(f(a), f(b))"));
  auto instances = rulesOf("rule zero sub(?x, ?x) => zero");
  saturate(graph, instances, noFacts);
  ClassId zero = graph.add(terms, term("zero"));
  EXPECT_EQ(graph.find(same), graph.find(zero));
  EXPECT_NE(graph.find(other), graph.find(zero));
  graph.merge(graph.add(terms, term("a")), graph.add(terms, term("b")));
  saturate(graph, instances, noFacts);
  EXPECT_EQ(graph.find(other), graph.find(zero));
}

TEST_F(SaturationTest, AnAttributeThatStandsTwiceIsOneValue) {
  EGraph graph(vocabulary);
  ClassId same = graph.add(terms, term("s[1, 1](t[1](a))")),
          other = graph.add(terms, term("s[1, 1](t[2](a))"));
  saturate(graph, rulesOf("rule cancel s[1, ?a](t[?a](?x)) => ?x"), noFacts);
  ClassId a = graph.find(graph.add(terms, term("a")));
  EXPECT_EQ(graph.find(same), a);
  EXPECT_NE(graph.find(other), a);
}

TEST_F(SaturationTest, AnAttributeWithoutValueLeavesTheGraphAsItWas) {
  EGraph graph(vocabulary);
  graph.add(terms, term("f[0](a)"));
  Saturation result =
      saturate(graph, rulesOf("rule divide f[?n](?x) => g(h[10 / ?n](?x))"), noFacts);
  EXPECT_EQ(result.reason, StopReason::Saturated);
  EXPECT_EQ(graph.nodeCount(), 2u);
}

TEST_F(SaturationTest, ParametersOfAFamilyAreKnownBeforeTheMatch) {
  parseRules(rules, text("level hardware\nrule tile for Op[?n] f[?n](?x) => Op[?n](?x)"),
             vocabulary, nullptr);
  std::vector<RuleInstance> instances = {{&rules[0], {Attribute::number(64)}}};
  EGraph graph(vocabulary);
  graph.add(terms, term("pair(f[64](a), f[32](a))"));
  saturate(graph, instances, noFacts);
  EXPECT_EQ(graph.classesWith(vocabulary.name("Op")).size(), 1u);
  EXPECT_EQ(instances[0].name(vocabulary), "tile[64]");
}

} // namespace headrace::rewrite
