#include "rewrite/tensor/CheckRules.h"

#include "rewrite/Fixture.h"
#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/rules/ShippedRules.h"
#include "rewrite/tensor/TensorLanguage.h"

namespace headrace::rewrite {

class CheckRulesTest : public RewriteTest {
protected:
  RuleCheck check(const std::string &contents, uint64_t seed = 0) {
    parseRules(rules, text("level algorithm\n" + contents), vocabulary, &language);
    return checkRules(rules, allOperators(), vocabulary, {.seed = seed, .attempts = 50'000});
  }
  TensorLanguage language{allOperators()};
};

TEST_F(CheckRulesTest, EveryShippedRuleHoldsOnRandomData) {
  RuleSet shipped = shippedRules(vocabulary);
  RuleCheck result = checkRules(shipped, allOperators(), vocabulary, {.seed = 1, .trials = 5});
  for (const RuleFault &fault : result.faults)
    ADD_FAILURE() << fault.rule->name << ": " << fault.reason;
  EXPECT_EQ(result.rules, shipped.size());
  EXPECT_GE(result.trials, shipped.size());
}

TEST_F(CheckRulesTest, AnUnsoundRuleIsNamedWithItsCounterExample) {
  RuleCheck result = check("rule good map[relu](map[relu](?x)) => map[relu](?x)\n"
                           "rule bad map[relu](map[tanh](?x)) => map[tanh](?x)\n");
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].rule->name, "bad");
  EXPECT_NE(result.faults[0].reason.find("the left-hand side is 0, the right-hand side -0."),
            std::string::npos);
  EXPECT_NE(result.faults[0].reason.find("\n  where ?x has shape ["), std::string::npos);
}

TEST_F(CheckRulesTest, ARuleThatIsWrongForSomeSizesOnlyIsCaught) {
  // If 4 does not divide the size, there are windows that split does not have.
  RuleCheck result = check("rule bad slide[1, ?n, ?n](?x) => split[1, ?n](?x) where ?n < 5\n"
                           "rule good slide[1, ?n, ?n](?x) => split[1, ?n](?x)\n"
                           "  where size(?x, 1) % ?n == 0\n");
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].rule->name, "bad");
  EXPECT_NE(result.faults[0].reason.find("the right-hand side has no shape: split"),
            std::string::npos);
}

TEST_F(CheckRulesTest, ARuleThatChangesTheShapeIsCaught) {
  RuleCheck result = check("rule bad transpose[1, 2](?x) => ?x");
  ASSERT_EQ(result.faults.size(), 1u);
}

TEST_F(CheckRulesTest, ARuleThatNeverAppliesIsReported) {
  RuleCheck result = check("rule never map[relu](?x) => ?x where size(?x, 1) < 0");
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].reason,
            "no example found in 50000 attempts: are its conditions ever true?");
}

TEST_F(CheckRulesTest, TheSameSeedGivesTheSameCounterExample) {
  std::string first = check("rule bad zip[sub](?x, ?y) => zip[sub](?y, ?x)", 7).faults[0].reason;
  EXPECT_EQ(checkRules(rules, allOperators(), vocabulary, {.seed = 7}).faults[0].reason, first);
}

} // namespace headrace::rewrite
