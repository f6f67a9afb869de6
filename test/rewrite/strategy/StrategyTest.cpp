#include "rewrite/strategy/Strategy.h"

#include "rewrite/Fixture.h"

namespace headrace::rewrite {

class StrategyTest : public RewriteTest {
protected:
  void SetUp() override {
    rulesOf("rule ab a => b  rule bc b => c  rule unwrap f(?x) => ?x  rule grow f(?x) => f(f(?x))\n"
            "rule plus f[?n](?x) => f[?n + 1](?x) where ?n < 3");
  }
  Strategy rule(const std::string &name) {
    for (const Rule &rule : rules)
      if (rule.name == name)
        return apply({&rule, {}});
    throw InternalError("no rule " + name);
  }
  // "-" if it fails.
  std::string run(const Strategy &strategy, const std::string &contents) {
    RewriteContext context{terms, noFacts, 1000, {}};
    std::optional<TermId> result = strategy(context, term(contents));
    steps = context.steps.size();
    return result ? print(terms, *result) : "-";
  }
  size_t steps = 0;
};

TEST_F(StrategyTest, ARuleAppliesAtTheRootAlone) {
  EXPECT_EQ(run(rule("ab"), "a"), "b");
  EXPECT_EQ(run(rule("ab"), "f(a)"), "-");
}

TEST_F(StrategyTest, CombinatorsFollowTheirDefinitions) {
  EXPECT_EQ(run(id(), "a"), "a");
  EXPECT_EQ(run(fail(), "a"), "-");
  EXPECT_EQ(run(seq(rule("ab"), rule("bc")), "a"), "c");
  EXPECT_EQ(run(seq(rule("bc"), rule("ab")), "a"), "-");
  EXPECT_EQ(run(choice(rule("bc"), rule("ab")), "a"), "b");
  EXPECT_EQ(run(attempt(rule("bc")), "a"), "a");
  EXPECT_EQ(run(repeat(rule("unwrap")), "f(f(f(a)))"), "a");
  EXPECT_EQ(run(repeat(rule("plus")), "f[0](a)"), "f[3](a)");
  EXPECT_EQ(steps, 3u);
  EXPECT_EQ(run(repeat(id()), "a"), "a");
}

TEST_F(StrategyTest, TraversalsTakeTheFirstPlaceInTheirOrder) {
  EXPECT_EQ(run(topDown(rule("ab")), "g(f(a), a)"), "g(f(b), a)");
  EXPECT_EQ(run(topDown(rule("unwrap")), "g(f(f(a)), f(b))"), "g(f(a), f(b))");
  EXPECT_EQ(run(bottomUp(rule("plus")), "f[0](f[1](a))"), "f[0](f[2](a))");
  EXPECT_EQ(run(topDown(rule("plus")), "f[0](f[1](a))"), "f[1](f[1](a))");
  EXPECT_EQ(run(topDown(rule("bc")), "g(f(a), a)"), "-");
}

TEST_F(StrategyTest, NormalizeLeavesNothingToDo) {
  EXPECT_EQ(
      run(normalize(choice(rule("ab"), choice(rule("bc"), rule("unwrap")))), "g(f(a), f(f(b)))"),
      "g(c, c)");
  EXPECT_EQ(run(normalize(rule("bc")), "a"), "a");
}

TEST_F(StrategyTest, WhatFailsHalfwayLeavesNoSteps) {
  EXPECT_EQ(run(attempt(seq(rule("ab"), fail())), "a"), "a");
  EXPECT_EQ(steps, 0u);
}

TEST_F(StrategyTest, AStrategyThatDoesNotEndIsAnError) {
  EXPECT_EQ(errorOf([&] { run(repeat(rule("grow")), "f(a)"); }),
            "the strategy does not end: rule 'grow' was the last of too many applications");
}

} // namespace headrace::rewrite
