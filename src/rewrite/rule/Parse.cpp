#include "rewrite/rule/Parse.h"

#include "rewrite/rule/PatternParser.h"
#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <set>

namespace headrace::rewrite {

namespace {

class RuleParser {
public:
  RuleParser(RuleSet &rules, const std::shared_ptr<const Source> &source, Vocabulary &vocabulary,
             const Language *language)
      : rules(rules), tokens(source), vocabulary(vocabulary), language(language) {
    for (const Rule &rule : rules)
      names.insert(rule.name);
  }

  void run() {
    while (tokens.peek().kind != TokenKind::End) {
      if (tokens.takeIf("level"))
        parseLevel();
      else if (tokens.takeIf("rule"))
        parseRule();
      else
        tokens.failHere("expected 'rule' or 'level', got " + nameOf(tokens.peek()));
    }
  }

private:
  void parseLevel() {
    for (Level candidate : {Level::Language, Level::Algorithm, Level::Hardware})
      if (tokens.takeIf(rewrite::nameOf(candidate))) {
        level = candidate;
        return;
      }
    tokens.failHere("expected 'language', 'algorithm' or 'hardware', got " + nameOf(tokens.peek()));
  }

  void parseRule() {
    if (!level)
      tokens.failHere("expected a line such as 'level algorithm' before the first rule");
    Token name = tokens.expect(TokenKind::Identifier, "the rule's name");
    // The rule's body is read twice if it goes both ways.
    TokenStream body = tokens;
    bool bothWays = parseDirection(name, std::string(name.text), false);
    if (bothWays) {
      TokenStream after = tokens;
      tokens = body;
      parseDirection(name, std::string(name.text) + ".reversed", true);
      tokens = after;
    }
  }

  // Whether the rule goes both ways. Reversed: what stands on the right is the left side.
  bool parseDirection(const Token &nameToken, std::string name, bool reversed) {
    Rule rule;
    rule.name = std::move(name);
    rule.level = *level;
    rule.place = tokens.placeOf(nameToken);
    if (!names.insert(rule.name).second)
      fail(rule.place, "there is a rule " + inQuotes(rule.name) + " already");
    PatternParser parser(tokens, vocabulary, language);
    if (tokens.takeIf("for"))
      parseFamily(rule, parser);
    bool bothWays = false;
    using Side = PatternParser::Side;
    if (reversed) {
      TokenStream left = tokens;
      PatternParser skip(tokens, vocabulary, language);
      skip.values = parser.values;
      skip.pattern(Side::Left);
      tokens.expect("<=>");
      rule.left = leftPattern(parser);
      parseClauses(rule, parser);
      TokenStream end = tokens;
      tokens = left;
      rule.right = parser.pattern(Side::Right);
      tokens = end;
    } else {
      rule.left = leftPattern(parser);
      bothWays = tokens.takeIf("<=>");
      if (!bothWays)
        tokens.expect("=>");
      // Values that the clauses name may be on the right-hand side, which comes before them.
      TokenStream right = tokens;
      skipPattern();
      uint32_t patternEnd = tokens.peek().offset;
      parseClauses(rule, parser);
      TokenStream end = tokens;
      tokens = right;
      rule.right = parser.pattern(Side::Right);
      if (tokens.peek().offset != patternEnd)
        tokens.failHere("expected 'where' or the end of the rule, got " + nameOf(tokens.peek()));
      tokens = end;
    }
    rule.subjects = std::move(parser.subjects);
    rule.values = std::move(parser.values);
    rules.push_back(std::move(rule));
    return bothWays;
  }

  Pattern leftPattern(PatternParser &parser) {
    Pattern left = parser.pattern(PatternParser::Side::Left);
    if (left.isVariable)
      fail(left.place, "a rule that fits every term: expected an operator on the left-hand side");
    return left;
  }

  void parseFamily(Rule &rule, PatternParser &parser) {
    Token op = tokens.expect(TokenKind::Identifier, "an operator with sizes");
    rule.family = vocabulary.name(op.text);
    if (tokens.takeIf("[")) {
      do
        parser.newValue(tokens.expect(TokenKind::Variable, "a variable"));
      while (tokens.takeIf(","));
      tokens.expect("]");
    }
    rule.parameterCount = parser.values.size();
    if (!language)
      return;
    std::optional<size_t> expected = language->sizesOf(op.text);
    if (!expected)
      fail(tokens.placeOf(op), inQuotes(op.text) + " is not an operator of machines");
    if (*expected != rule.parameterCount)
      fail(tokens.placeOf(op), inQuotes(op.text) + ": expected " + std::to_string(*expected) +
                                   (*expected == 1 ? " size" : " sizes") + ", got " +
                                   std::to_string(rule.parameterCount));
  }

  // Up to what ends a pattern: `where`, or the next rule.
  void skipPattern() {
    size_t open = 0;
    while (tokens.peek().kind != TokenKind::End) {
      const Token &next = tokens.peek();
      if (open == 0 && (next.is("where") || next.is("rule") || next.is("level")))
        return;
      open += next.is("(") || next.is("[");
      open -= open > 0 && (next.is(")") || next.is("]"));
      tokens.take();
    }
  }

  void parseClauses(Rule &rule, PatternParser &parser) {
    if (!tokens.takeIf("where"))
      return;
    do
      rule.clauses.push_back(parser.clause());
    while (tokens.takeIf(","));
  }

  RuleSet &rules;
  TokenStream tokens;
  Vocabulary &vocabulary;
  const Language *language;
  std::optional<Level> level;
  std::set<std::string> names;
};

TermId addGround(const Pattern &pattern, Terms &terms) {
  std::vector<Attribute> attributes;
  for (const Expression &expression : pattern.attributes)
    attributes.push_back(expression.literal);
  std::vector<TermId> operands;
  for (const Pattern &operand : pattern.operands)
    operands.push_back(addGround(operand, terms));
  return terms.add(terms.vocabulary().op(pattern.name, std::move(attributes)), std::move(operands));
}

} // namespace

void parseRules(RuleSet &rules, const std::shared_ptr<const Source> &source, Vocabulary &vocabulary,
                const Language *language) {
  size_t before = rules.size();
  try {
    RuleParser(rules, source, vocabulary, language).run();
  } catch (const Error &) { // all of a text or nothing
    rules.erase(rules.begin() + static_cast<ptrdiff_t>(before), rules.end());
    throw;
  }
}

TermId parseTerm(const std::shared_ptr<const Source> &source, Terms &terms,
                 const Language *language) {
  TokenStream tokens(source);
  PatternParser parser(tokens, terms.vocabulary(), language);
  SourceLocation start = tokens.place();
  Pattern pattern = parser.pattern(PatternParser::Side::Left);
  if (tokens.peek().kind != TokenKind::End)
    tokens.failHere("expected the end of the term, got " + nameOf(tokens.peek()));
  if (!parser.subjects.empty() || !parser.values.empty())
    fail(start, "expected a term without variables");
  return addGround(pattern, terms);
}

} // namespace headrace::rewrite
