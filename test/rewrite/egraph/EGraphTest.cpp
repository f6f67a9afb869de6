#include "rewrite/egraph/EGraph.h"

#include "rewrite/Fixture.h"

namespace headrace::rewrite {

class EGraphTest : public RewriteTest {};

TEST_F(EGraphTest, EqualTermsAreOneClass) {
  EGraph graph(vocabulary);
  EXPECT_EQ(graph.add(terms, term("f(a, g[1](b))")), graph.add(terms, term("f(a, g[1](b))")));
  EXPECT_EQ(graph.nodeCount(), 4u);
}

TEST_F(EGraphTest, AttributesTellOperatorsApart) {
  EGraph graph(vocabulary);
  EXPECT_NE(graph.add(terms, term("g[1](b)")), graph.add(terms, term("g[2](b)")));
  EXPECT_NE(graph.add(terms, term("g[relu](b)")), graph.add(terms, term("g[2](b)")));
}

TEST_F(EGraphTest, MergedOperandsMakeUsersEqual) {
  EGraph graph(vocabulary);
  ClassId fa = graph.add(terms, term("f(f(a))")), fb = graph.add(terms, term("f(f(b))"));
  EXPECT_TRUE(graph.merge(graph.add(terms, term("a")), graph.add(terms, term("b"))));
  EXPECT_NE(graph.find(fa), graph.find(fb));
  graph.rebuild();
  EXPECT_EQ(graph.find(fa), graph.find(fb));
  EXPECT_EQ(graph.nodeCount(), 4u);
  EXPECT_EQ(graph.classCount(), 3u);
  EXPECT_EQ(graph.classes().size(), 3u);
}

TEST_F(EGraphTest, AClassMayContainItself) {
  EGraph graph(vocabulary);
  ClassId a = graph.add(terms, term("a")), fa = graph.add(terms, term("f(a)"));
  graph.merge(a, fa);
  graph.rebuild();
  EXPECT_EQ(graph.find(graph.add(terms, term("f(f(f(f(a))))"))), graph.find(a));
  EXPECT_EQ(graph.classCount(), 1u);
}

namespace {

// Congruence closure by definition: merges all pairs that follow until none does.
std::vector<size_t> naiveClosure(const Terms &terms,
                                 const std::vector<std::pair<TermId, TermId>> &equal) {
  std::vector<size_t> classes(terms.size());
  for (size_t i = 0; i < classes.size(); ++i)
    classes[i] = i;
  auto merge = [&](size_t a, size_t b) {
    if (a == b)
      return false;
    for (size_t &id : classes)
      if (id == b)
        id = a;
    return true;
  };
  for (auto [a, b] : equal)
    merge(classes[a], classes[b]);
  for (bool changed = true; changed;) {
    changed = false;
    for (TermId a = 0; a < terms.size(); ++a)
      for (TermId b = 0; b < a; ++b) {
        if (terms[a].op != terms[b].op || terms[a].operands.size() != terms[b].operands.size())
          continue;
        bool congruent = true;
        for (size_t i = 0; i < terms[a].operands.size(); ++i)
          congruent &= classes[terms[a].operands[i]] == classes[terms[b].operands[i]];
        if (congruent)
          changed |= merge(classes[a], classes[b]);
      }
  }
  return classes;
}

void addRandomTerms(Terms &terms, std::mt19937 &random, size_t count) {
  Vocabulary &vocabulary = terms.vocabulary();
  for (int i = 0; i < 5; ++i)
    terms.add(vocabulary.op("leaf", {Attribute::number(i)}));
  while (terms.size() < count) {
    size_t arity = 1 + random() % 2;
    std::vector<TermId> operands;
    for (size_t i = 0; i < arity; ++i)
      operands.push_back(static_cast<TermId>(random() % terms.size()));
    terms.add(vocabulary.op(arity == 1 ? "f" : "g", {Attribute::number(random() % 2)}), operands);
  }
}

} // namespace

TEST_F(EGraphTest, RandomMergesHaveTheCongruenceClosureOfTheDefinition) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Vocabulary words;
    Terms pool(words);
    addRandomTerms(pool, random, 20 + seed);
    EGraph graph(words);
    std::vector<ClassId> classes;
    for (TermId id = 0; id < pool.size(); ++id)
      classes.push_back(graph.add(pool, id));
    std::vector<std::pair<TermId, TermId>> equal;
    for (unsigned i = 0; i < 2 + seed % 9; ++i) {
      auto pick = [&] { return static_cast<TermId>(random() % pool.size()); };
      equal.emplace_back(pick(), pick());
      graph.merge(classes[equal.back().first], classes[equal.back().second]);
      if (random() % 3 == 0) // in parts or all at once
        graph.rebuild();
    }
    graph.rebuild();
    std::vector<size_t> expected = naiveClosure(pool, equal);
    std::set<size_t> distinct(expected.begin(), expected.end());
    EXPECT_EQ(graph.classCount(), distinct.size()) << "seed " << seed;
    for (TermId a = 0; a < pool.size(); ++a)
      for (TermId b = 0; b < a; ++b)
        ASSERT_EQ(graph.find(classes[a]) == graph.find(classes[b]), expected[a] == expected[b])
            << "seed " << seed << ": " << print(pool, a) << " and " << print(pool, b);
    size_t nodes = 0;
    for (ClassId id : graph.classes())
      nodes += graph.nodesOf(id).size();
    EXPECT_EQ(nodes, graph.nodeCount());
    // Adding them again finds them all.
    for (TermId id = 0; id < pool.size(); ++id)
      EXPECT_EQ(graph.find(graph.add(pool, id)), graph.find(classes[id]));
    EXPECT_EQ(graph.nodeCount(), nodes);
  }
}

TEST_F(EGraphTest, IndexByNameFindsTheNodesOfThatNameAlone) {
  EGraph graph(vocabulary);
  graph.add(terms, term("f(g(a), g(b))"));
  graph.merge(graph.add(terms, term("a")), graph.add(terms, term("g(b)")));
  graph.rebuild();
  Name g = vocabulary.name("g");
  EXPECT_EQ(graph.classesWith(g).size(), 2u);
  for (ClassId id : graph.classesWith(g))
    for (NodeId node : graph.nodesOf(id, g))
      EXPECT_EQ(graph.opOf(node).name, g);
  EXPECT_TRUE(graph.classesWith(vocabulary.name("nobody")).empty());
}

} // namespace headrace::rewrite
