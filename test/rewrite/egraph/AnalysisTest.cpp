#include "rewrite/egraph/Analysis.h"

#include "rewrite/Fixture.h"

namespace headrace::rewrite {

namespace {

// Constants of `n[5]`, `add(x, y)`, `mul(x, y)`; a class with a known value gets it as a node.
class ConstantAnalysis : public LatticeAnalysis<std::optional<int64_t>> {
public:
  std::optional<int64_t> make(const EGraph &graph, NodeId node) const override {
    const Operator &op = graph.opOf(node);
    std::string_view name = graph.vocabulary().text(op.name);
    if (name == "n")
      return op.attributes[0].value;
    if (name != "add" && name != "mul")
      return {};
    std::optional<int64_t> a = of(graph.operandsOf(node)[0]), b = of(graph.operandsOf(node)[1]);
    if (!a || !b)
      return {};
    return name == "add" ? *a + *b : *a * *b;
  }
  bool join(std::optional<int64_t> &facts, const std::optional<int64_t> &more) const override {
    if (facts && more && *facts != *more)
      throw Error(ErrorKind::InvalidArgument,
                  std::to_string(*facts) + " is not " + std::to_string(*more));
    if (facts || !more)
      return false;
    facts = more;
    return true;
  }
  void modify(EGraph &graph, ClassId changed) override {
    if (std::optional<int64_t> value = of(changed))
      graph.merge(changed, graph.add(graph.vocabulary().op("n", {Attribute::number(*value)}),
                                     std::initializer_list<ClassId>{}));
  }
};

} // namespace

class AnalysisTest : public RewriteTest {};

TEST_F(AnalysisTest, ConstantsFoldThroughLaterMerges) {
  ConstantAnalysis constants;
  EGraph graph(vocabulary);
  graph.attach(constants);
  ClassId root = graph.add(terms, term("mul(add(x, n[2]), add(y, x))"));
  graph.rebuild();
  EXPECT_FALSE(constants.of(graph.find(root)));
  graph.merge(graph.add(terms, term("x")), graph.add(terms, term("n[3]")));
  graph.rebuild();
  EXPECT_FALSE(constants.of(graph.find(root)));
  graph.merge(graph.add(terms, term("y")), graph.add(terms, term("add(x, x)")));
  graph.rebuild();
  EXPECT_EQ(constants.of(graph.find(root)), 45);
  EXPECT_EQ(graph.find(graph.add(terms, term("n[45]"))), graph.find(root));
  EXPECT_EQ(graph.find(graph.add(terms, term("add(n[3], n[2])"))),
            graph.find(graph.add(terms, term("n[5]"))));
}

TEST_F(AnalysisTest, AContradictionNamesTheRule) {
  ConstantAnalysis constants;
  EGraph graph(vocabulary);
  graph.attach(constants);
  graph.add(terms, term("add(n[1], n[2])"));
  auto instances = rulesOf("rule wrong add(?a, ?b) => mul(?a, ?b)");
  EXPECT_EQ(errorOf([&] { saturate(graph, instances, noFacts); }),
            "test.rules:2:6: rule 'wrong': 3 is not 2");
}

} // namespace headrace::rewrite
