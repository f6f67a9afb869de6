#include "rewrite/Fixture.h"
#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/accelerator/Mapping.h"
#include "rewrite/accelerator/Memories.h"
#include "rewrite/derivation/Replay.h"
#include "rewrite/rules/ShippedRules.h"

#include <set>

namespace headrace::rewrite {

class DerivationTest : public RewriteTest {
protected:
  DerivationTest() : shipped(shippedRules(vocabulary)) {}

  Mapping derived(const std::string &contents, const std::string &machineName) {
    machine = Accelerator::read(std::string(HEADRACE_EXAMPLES) + "/accelerators/" + machineName +
                                ".json");
    return mapToMachine(terms, term(contents), machine, shipped,
                        {.limits = {}, .extraction = {}, .derives = true});
  }

  std::string replayError(Mapping mapping) {
    return errorOf([&] { replay(terms, mapping, machine, 1); });
  }

  RuleSet shipped;
  Accelerator machine;
};

constexpr const char *layer =
    "map[relu](dense(tensor[w, 120, 256], tensor[x, 256], tensor[b, 120]))";

TEST_F(DerivationTest, LeadsToTheMappingOnEveryMachine) {
  for (const char *name : {"vector-64", "vector-128", "matrix-16"}) {
    Mapping mapping = derived(layer, name);
    EXPECT_EQ(replayError(mapping), "") << name;
    EXPECT_EQ(mapping.derivation.front().rule.rule->name, "dense-is-product-and-bias") << name;
    EXPECT_GT(mapping.derivation.size(), 10) << name;
  }
}

TEST_F(DerivationTest, OfAConvolution) {
  Mapping mapping = derived("conv[1, 1](tensor[x, 2, 8, 8], tensor[w, 3, 2, 3, 3])", "matrix-16");
  EXPECT_EQ(replayError(mapping), "");
}

TEST_F(DerivationTest, HasNoStepTwice) {
  Mapping mapping = derived(layer, "vector-64");
  std::set<std::pair<TermId, TermId>> seen;
  for (const DerivationStep &step : mapping.derivation)
    EXPECT_TRUE(seen.emplace(std::minmax(step.before, step.after)).second);
}

TEST_F(DerivationTest, IsEmptyWhereNothingChanges) {
  auto rules = rulesOf("rule r f(?x) => g(?x)");
  EGraph graph(vocabulary);
  Proof proof(terms);
  graph.attach(proof);
  graph.add(terms, term("h(a)"));
  saturate(graph, rules, noFacts, {}, &proof);
  EXPECT_TRUE(derive(proof, term("h(a)"), term("h(a)"), rules).empty());
}

// a = b is needed before g(a, b) can lose an operand.
TEST_F(DerivationTest, OperandsBecomeEqualFirst) {
  auto rules = rulesOf("rule same g(?x, ?x) => ?x\nrule ab b => a");
  EGraph graph(vocabulary);
  Proof proof(terms);
  graph.attach(proof);
  ClassId root = graph.add(terms, term("f(g(a, b))"));
  saturate(graph, rules, noFacts, {}, &proof);
  NodeCount cost;
  cost.costs["b"] = 2;
  Extraction best = extract(graph, root, cost, terms);
  ASSERT_EQ(print(terms, best.term), "f(a)");
  proof.chosen(graph, root, best.term, best.chosen);
  std::vector<DerivationStep> steps = derive(proof, term("f(g(a, b))"), best.term, rules);
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].rule.rule->name, "ab");
  EXPECT_EQ(steps[1].rule.rule->name, "same");
}

TEST_F(DerivationTest, AWrongStepIsNamed) {
  Mapping mapping = derived(layer, "vector-64");
  Mapping other = mapping;
  std::swap(other.derivation[1].before, other.derivation[1].after);
  EXPECT_NE(replayError(other).find("step 2, rule 'mv-padded-rows[64, 64]': it does not make"),
            std::string::npos);
  other = mapping;
  other.derivation.erase(other.derivation.begin() + 1);
  EXPECT_NE(replayError(other).find("did not come up before"), std::string::npos);
  other = mapping;
  other.derivation.pop_back();
  EXPECT_EQ(replayError(other), "the derivation does not end at the term it is for");
}

// The check on values does not rest on rules: an unsound one is caught.
TEST_F(DerivationTest, ARuleThatIsWrongOnNumbersIsNamed) {
  parseRules(shipped, text("level algorithm\nrule wrong zip[sub](?x, ?y) => zip[add](?x, ?y)"),
             vocabulary, nullptr);
  Mapping mapping = derived("zip[sub](tensor[x, 64], tensor[y, 64])", "vector-64");
  EXPECT_NE(replayError(mapping).find("rule 'wrong': values differ by"), std::string::npos);
}

TEST_F(DerivationTest, StepsReadAsRulesWithTheTermsOfTheUser) {
  Mapping mapping = derived(layer, "vector-64");
  TermShapes shapes(terms, allOperators());
  EXPECT_EQ(textOf(mapping.derivation[0], terms, shapes),
            "dense(w, x, b) => zip[add](mv(w, x), b)");
}

} // namespace headrace::rewrite
