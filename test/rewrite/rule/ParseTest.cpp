#include "rewrite/rule/Parse.h"

#include "rewrite/Fixture.h"

namespace headrace::rewrite {

namespace {

class SmallLanguage : public Language {
public:
  std::optional<OperatorSignature> operatorNamed(std::string_view name) const override {
    if (name == "map")
      return OperatorSignature{{Kind::Name}, false, 1};
    if (name == "split")
      return OperatorSignature{{Kind::Number, Kind::Number}, false, 1};
    if (name == "tensor")
      return OperatorSignature{{Kind::Name}, true, 0};
    return {};
  }
  std::optional<FunctionSignature> functionNamed(std::string_view name) const override {
    if (name == "size")
      return FunctionSignature{Kind::Subject, Kind::Number};
    return {};
  }
  bool hasName(std::string_view name) const override { return name == "relu" || name == "x"; }
  std::optional<size_t> sizesOf(std::string_view name) const override {
    return name == "MVMul" ? std::optional<size_t>(2) : std::nullopt;
  }
};

} // namespace

class ParseTest : public RewriteTest {
protected:
  std::string errorIn(const std::string &contents) {
    return errorOf([&] { parseRules(rules, text(contents), vocabulary, &language); });
  }
  // Without the excerpt.
  std::string errorInRule(const std::string &rule) {
    std::string message = errorIn("level algorithm\nrule r " + rule);
    return message.substr(0, message.find('\n'));
  }
  SmallLanguage language;
};

TEST_F(ParseTest, ARuleHasLevelVariablesAndClauses) {
  EXPECT_EQ(errorIn("# comment\nlevel hardware\nrule a-b for MVMul[?r, ?c]\n"
                    "  map[?f](?x) => split[?a, ?n / ?r](map[?f](?x))\n"
                    "  where ?n = size(?x, 1), ?a = 1, ?n % ?c == 0 and not ?n < 2 or ?r > 3\n"
                    "rule c map[relu](map[relu](?x)) => map[relu](?x)"),
            "");
  ASSERT_EQ(rules.size(), 2u);
  const Rule &rule = rules[0];
  EXPECT_EQ(rule.name, "a-b");
  EXPECT_EQ(rule.level, Level::Hardware);
  EXPECT_EQ(rule.place.text(), "test.rules:3:6");
  EXPECT_EQ(rule.parameterCount, 2u);
  EXPECT_EQ(rule.subjects, std::vector<std::string>{"x"});
  EXPECT_EQ(rule.values, (std::vector<std::string>{"r", "c", "f", "n", "a"}));
  EXPECT_EQ(rule.clauses.size(), 3u);
}

TEST_F(ParseTest, ARuleInBothDirectionsIsTwo) {
  EXPECT_EQ(
      errorIn("level algorithm\nrule r split[?a, ?n](map[?f](?x)) <=> map[?f](split[?a, ?n](?x))"
              " where ?n > 1\nrule s map[relu](?x) => ?x"),
      "");
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[1].name, "r.reversed");
  EXPECT_EQ(vocabulary.text(rules[1].left.name), "map");
  EXPECT_EQ(vocabulary.text(rules[1].right.name), "split");
  EXPECT_EQ(rules[2].name, "s");
}

TEST_F(ParseTest, ErrorsShowFileLineColumnAndTheLine) {
  EXPECT_EQ(errorIn("level algorithm\nrule r\n  map[relu](?x) => mop[relu](?x)\n"),
            "test.rules:3:20: there is no operator 'mop'\n"
            "    map[relu](?x) => mop[relu](?x)\n"
            "                     ^");
}

TEST_F(ParseTest, MistakesAreNamedAtTheirPlace) {
  EXPECT_EQ(errorInRule("map[rleu](?x) => ?x"), "test.rules:2:12: there is no function 'rleu'");
  EXPECT_EQ(errorInRule("map[3](?x) => ?x"),
            "test.rules:2:12: attribute 1 of 'map': expected a name, got a number");
  EXPECT_EQ(errorInRule("map[relu](?x, ?y) => ?x"),
            "test.rules:2:8: 'map': expected 1 operand, got 2");
  EXPECT_EQ(errorInRule("split[1](?x) => ?x"),
            "test.rules:2:8: 'split': expected 2 attributes, got 1");
  EXPECT_EQ(errorInRule("map[?f](?x) => ?y"),
            "test.rules:2:23: ?y is neither on the left-hand side nor defined");
  EXPECT_EQ(errorInRule("map[?x](?x) => ?x"),
            "test.rules:2:16: ?x stands for an attribute elsewhere in this rule");
  EXPECT_EQ(
      errorInRule("?x => map[relu](?x)"),
      "test.rules:2:8: a rule that fits every term: expected an operator on the left-hand side");
  EXPECT_EQ(errorInRule("map[?f](?x) => ?x where size(?x) > 1"),
            "test.rules:2:32: 'size': expected 2 arguments, got 1");
  EXPECT_EQ(errorInRule("map[?f](?x) => ?x where size(1, 1) > 1"),
            "test.rules:2:37: argument 1 of 'size': expected a variable that is a term, "
            "got a number");
  EXPECT_EQ(errorInRule("map[?f](?x) => ?x where extent(?x, 1) > 1"),
            "test.rules:2:32: there is no function 'extent' of sizes");
  EXPECT_EQ(errorInRule("map[?f](?x) => ?x where ?f = 1"),
            "test.rules:2:32: ?f has a value already; '==' compares");
  EXPECT_EQ(errorInRule("map[?f](?x) => ?x where ?n = ?n + 1"),
            "test.rules:2:37: ?n is neither on the left-hand side nor defined");
  EXPECT_EQ(errorInRule("map[?f](?x) => ?x where ?x + 1 > 0"),
            "test.rules:2:32: expected a number, got a variable that is a term");
  EXPECT_EQ(errorInRule("split[1 + 1, 2](?x) => ?x"),
            "test.rules:2:16: expected ',' or ']': attributes on the left-hand side cannot be "
            "expressions");
  EXPECT_EQ(errorInRule("map[?f](?x) => ?x ?x"),
            "test.rules:2:26: expected 'where' or the end of the rule, got the variable ?x");
  EXPECT_EQ(errorInRule("map[?f](?x) = ?x"), "test.rules:2:20: expected '=>', got '='");
  EXPECT_EQ(errorInRule("for MVMul[?n] map[?f](?x) => ?x"),
            "test.rules:2:12: 'MVMul': expected 2 sizes, got 1");
  EXPECT_EQ(
      errorInRule("map[?f](?x) => ?x where ?x $ 1"),
      "test.rules:2:35: expected a name, a number, a variable such as ?x or a symbol, got '$'");
  EXPECT_EQ(
      errorInRule("map[?f](?x) <=> ?x"),
      "test.rules:2:24: a rule that fits every term: expected an operator on the left-hand side");
}

TEST_F(ParseTest, WhatStandsOutsideOfRulesIsRefused) {
  const std::string noLevel =
      "test.rules:1:6: expected a line such as 'level algorithm' before the first ";
  const std::string wrongLevel =
      "test.rules:1:7: expected 'language', 'algorithm' or 'hardware', got 'low'";
  const std::string wrongWord = "test.rules:1:1: expected 'rule' or 'level', got 'hello'";
  EXPECT_EQ(errorIn("rule r map[?f](?x) => ?x").substr(0, noLevel.size()), noLevel);
  EXPECT_EQ(errorIn("level low").substr(0, wrongLevel.size()), wrongLevel);
  EXPECT_EQ(errorIn("hello").substr(0, wrongWord.size()), wrongWord);
  EXPECT_EQ(errorIn(""), "");
}

TEST_F(ParseTest, ANameTwiceIsRefusedAndNothingOfTheTextIsKept) {
  EXPECT_EQ(errorIn("level algorithm\nrule r map[relu](?x) => ?x"), "");
  EXPECT_NE(errorIn("level algorithm\nrule s map[relu](?x) => ?x\nrule r map[relu](?x) => ?x"), "");
  EXPECT_EQ(rules.size(), 1u);
}

TEST_F(ParseTest, DeepNestingIsRefusedBeforeTheStackEnds) {
  std::string deep, close;
  for (int i = 0; i < 100000; ++i) {
    deep += "map[relu](";
    close += ")";
  }
  EXPECT_NE(errorIn("level algorithm\nrule r " + deep + "?x" + close + " => ?x")
                .find("expected at most 200 levels of nesting"),
            std::string::npos);
  EXPECT_NE(errorInRule("map[relu](?x) => ?x where " + std::string(100000, '(')), "");
}

TEST_F(ParseTest, BytesThatAreNoTextAreRefused) {
  EXPECT_NE(errorIn("level \xff\xfe"), "");
  EXPECT_EQ(errorOf([] { Source("f", std::string("a\0b", 3)); }),
            "f: expected a text of at most 4194304 bytes, got a zero byte at byte 1");
  EXPECT_NE(errorIn("level algorithm rule r map[99999999999999999999](?x) => ?x")
                .find("expected an integer"),
            std::string::npos);
}

TEST_F(ParseTest, TermsReadBackWhatIsPrinted) {
  const char *contents = "map[relu](split[1, 64](tensor[x, 128]))";
  EXPECT_EQ(print(terms, parseTerm(text(contents), terms, &language)), contents);
  EXPECT_NE(errorOf([&] { parseTerm(text("map[relu](?x)"), terms, &language); }), "");
  EXPECT_NE(errorOf([&] { parseTerm(text("tensor[x, 1] tensor[x, 1]"), terms, &language); }), "");
}

TEST_F(ParseTest, ExpressionsFollowThePrecedenceOfArithmetic) {
  auto valueOf = [&](const std::string &expression) {
    RuleSet one;
    parseRules(one, text("level algorithm rule r f[?a](?x) => f[" + expression + "](?x)"),
               vocabulary, nullptr);
    Bindings bindings{{0}, {Attribute::number(10)}};
    std::optional<Attribute> value = evaluate(one[0].right.attributes[0], bindings, NoFacts());
    return value ? std::to_string(value->value) : "nothing";
  };
  EXPECT_EQ(valueOf("2 + 3 * ?a - 1"), "31");
  EXPECT_EQ(valueOf("(2 + 3) * ?a % 7"), "1");
  EXPECT_EQ(valueOf("20 - 5 - 5"), "10");
  EXPECT_EQ(valueOf("-7 / 2"), "-4");
  EXPECT_EQ(valueOf("-7 % 2"), "1");
  EXPECT_EQ(valueOf("1 / 0"), "nothing");
  EXPECT_EQ(valueOf("9223372036854775807 + 1"), "nothing");
  EXPECT_EQ(valueOf("9223372036854775807 * ?a"), "nothing");
  EXPECT_EQ(valueOf("not 1 == 2 and 3 < 4"), "1");
  EXPECT_EQ(valueOf("1 == 2 or 2 == 2"), "1");
  EXPECT_EQ(valueOf("0 and 1 / 0"), "0");
  EXPECT_EQ(valueOf("unknown(?x)"), "nothing");
}

} // namespace headrace::rewrite
