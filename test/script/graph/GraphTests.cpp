#include "script/graph/DagBuilder.h"
#include "script/language/Analysis.h"
#include "script/language/Parser.h"
#include <algorithm>
#include <gtest/gtest.h>

namespace headrace::script {
namespace {

/// The graph of a script that is one basic block, over variables of these kinds and sizes.
class Graph {
public:
  std::map<std::string, Known> variables;
  std::vector<int64_t> symbols;
  bool beforeRun = false;

  Known &matrix(const std::string &name, Size rows, Size cols) {
    Known &known = variables[name];
    known.type = Type::matrix();
    known.rows = rows;
    known.cols = cols;
    known.density = 1;
    return known;
  }
  Known &scalar(const std::string &name, Size value = {}) {
    Known &known = variables[name];
    known.type = Type::scalar(ValueType::Integer);
    known.value = value;
    return known;
  }

  Dag build(const std::string &text, size_t first = 0) {
    AnalysisOptions analysis;
    for (const auto &[name, known] : variables)
      analysis.inputs[name] = known.type;
    analysis.keepAll = true;
    program = analyze(parse(std::make_shared<Source>("test.dml", text)), analysis);
    DagOptions options;
    options.variable = [this](const std::string &name) -> const Known * {
      auto found = variables.find(name);
      return found == variables.end() ? nullptr : &found->second;
    };
    options.executes = [](const std::string &) { return true; };
    if (!beforeRun)
      options.symbols = symbols;
    return buildDag(program.main.body.at(0).as<BasicBlock>()->statements, first, options);
  }

private:
  Program program;
};

size_t count(const Dag &dag, Op op) {
  return std::ranges::count_if(dag.nodes, [&](const Node &node) { return node.op == op; });
}

std::string sizes(const Dag &dag, const std::string &name) {
  const Known &known = dag.nodes[dag.assigned.at(name)].known;
  return known.rows.text() + " x " + known.cols.text();
}

TEST(ScriptGraph, EqualExpressionsAreOneNode) {
  Graph graph;
  graph.matrix("X", 5, 3);
  Dag dag = graph.build("a = sum(X * 2 + 1); b = mean(X * 2 + 1); c = X * 2 + 1");
  EXPECT_EQ(count(dag, Op::Cell), 2u);
  EXPECT_EQ(count(dag, Op::Aggregate), 2u);
}

TEST(ScriptGraph, RandomMatricesAreNotOne) {
  Dag dag = Graph().build("A = rand(rows=2, cols=2); B = rand(rows=2, cols=2)");
  EXPECT_EQ(count(dag, Op::Function), 2u);
}

TEST(ScriptGraph, ProductsNeedNoTransposes) {
  Graph graph;
  graph.matrix("X", 5, 3);
  graph.matrix("y", 5, 1);
  Dag dag = graph.build("w = t(X) %*% y; G = X %*% t(X); Z = t(t(X))");
  const Node &w = dag.nodes[dag.assigned.at("w")];
  EXPECT_TRUE(w.transposeLeft && !w.transposeRight);
  EXPECT_EQ(dag.nodes[dag.assigned.at("Z")].op, Op::Input);
  EXPECT_EQ(sizes(dag, "w"), "3 x 1");
  EXPECT_EQ(sizes(dag, "G"), "5 x 5");
}

TEST(ScriptGraph, SizesAreExpressionsOfSymbols) {
  Graph graph;
  graph.symbols = {1000, 300};
  graph.matrix("X", Size::symbol(0), Size::symbol(1));
  Dag dag = graph.build("E = cbind(X, matrix(1, nrow(X), 1)); F = rbind(X, X); m = ncol(E) - 1;"
                        "Z = matrix(0, m, 2 * nrow(X) + 3); r = rowSums(E); c = colSums(t(X))");
  EXPECT_EQ(sizes(dag, "E"), "s0 x s1 + 1");
  EXPECT_EQ(sizes(dag, "F"), "2*s0 x s1");
  EXPECT_EQ(sizes(dag, "Z"), "s1 x 2*s0 + 3");
  EXPECT_EQ(sizes(dag, "r"), "s0 x 1");
  EXPECT_EQ(sizes(dag, "c"), "1 x s0");
}

TEST(ScriptGraph, EndsWhereSizesAreNotKnown) {
  Graph graph;
  graph.matrix("X", 5, 3);
  Dag dag = graph.build("Y = removeEmpty(target=X, margin=\"rows\"); a = 1; Z = Y + 1; b = 2");
  EXPECT_EQ(dag.statements, 2u);
  dag = graph.build("n = sum(X); Z = matrix(0, n, 1)");
  EXPECT_EQ(dag.statements, 1u);
  EXPECT_FALSE(dag.assigned.contains("Z"));
}

TEST(ScriptGraph, AsksForScalarsThatDecideSizes) {
  Graph graph;
  graph.matrix("X", 5, 3);
  graph.scalar("k");
  graph.scalar("i");
  Dag dag = graph.build("Z = matrix(0, k, 2); r = X[i, ]");
  EXPECT_EQ(dag.wantedSizes, (std::set<std::string>{"k"}));
  EXPECT_EQ(sizes(dag, "r"), "1 x 3");
  graph.scalar("k", 4);
  EXPECT_EQ(sizes(graph.build("Z = matrix(0, k, 2)"), "Z"), "4 x 2");
}

TEST(ScriptGraph, NothingIsCutBeforeTheRun) {
  Graph graph;
  graph.beforeRun = true;
  graph.variables["X"].type = Type::matrix();
  Dag dag = graph.build(
      "Y = removeEmpty(target=X, margin=\"rows\"); Z = Y + matrix(1, 3, 3); s = sum(Z)");
  EXPECT_EQ(dag.statements, 3u);
  EXPECT_EQ(sizes(dag, "Y"), "? x ?");
  EXPECT_EQ(sizes(dag, "Z"), "3 x 3");
}

TEST(ScriptGraph, DensityIsEstimated) {
  Graph graph;
  graph.matrix("X", 100, 100).density = 0.1;
  graph.matrix("Y", 100, 100).density = 0.2;
  Dag dag = graph.build("a = X * Y; b = X + Y; c = X + 1; d = abs(X); e = X %*% Y");
  auto density = [&](const char *name) { return *dag.nodes[dag.assigned.at(name)].known.density; };
  EXPECT_DOUBLE_EQ(density("a"), 0.1 * 0.2);
  EXPECT_DOUBLE_EQ(density("b"), 0.1 + 0.2);
  EXPECT_DOUBLE_EQ(density("c"), 1);
  EXPECT_DOUBLE_EQ(density("d"), 0.1);
  EXPECT_NEAR(density("e"), 1 - std::pow(1 - 0.02, 100), 1e-12);
}

TEST(ScriptGraph, AMatrixOfOneValueIsTheValue) {
  Graph graph;
  graph.matrix("X", 5, 3);
  Dag dag = graph.build("Y = X * matrix(2, nrow(X), ncol(X))");
  const Node &product = dag.nodes[dag.assigned.at("Y")];
  EXPECT_EQ(dag.nodes[product.inputs[1]].op, Op::Literal);
}

TEST(ScriptSize, StaysLinear) {
  Size s = Size::symbol(0), t = Size::symbol(1);
  EXPECT_EQ((s + 1 + t - s).text(), "s1 + 1");
  EXPECT_EQ((Size(3) * (s - 2)).text(), "3*s0 - 6");
  EXPECT_FALSE((s * t).known());
  EXPECT_FALSE((Size() + 1).known());
  EXPECT_FALSE((s * (int64_t(1) << 40) * (int64_t(1) << 40)).known());
  EXPECT_FALSE((Size(int64_t(1) << 50) + 1).known());
  EXPECT_FALSE((s * (int64_t(1) << 50) + s).known());
  EXPECT_TRUE((s * (int64_t(1) << 50) - s).known());
  EXPECT_FALSE(sameSize(Size(), Size()));
  EXPECT_TRUE(sameSize((s + t) * 2 - s, t * 2 + s));
  EXPECT_EQ((s + s).evaluate(std::vector<int64_t>{21}), 42);
}

TEST(Graph, ProductsAreTakenInTheOrderOfLeastWork) {
  Graph graph;
  graph.matrix("e", 1000, 1);
  graph.matrix("u", 1, 1000);
  graph.matrix("p", 1000, 1);
  graph.matrix("X", 1000, 20);
  graph.matrix("S", 50, 50);
  Dag dag = graph.build(
      "a = e %*% u %*% p; b = t(p) %*% (e %*% u); c = -t(X) %*% p; d = sum(X %*% t(X)); "
      "k = S %*% S %*% S");
  auto node = [&](const std::string &name) { return dag.nodes[dag.assigned.at(name)]; };
  auto size = [&](int id) {
    return dag.nodes[id].known.rows.text() + " x " + dag.nodes[id].known.cols.text();
  };
  // e %*% (u %*% p), (t(p) %*% e) %*% u
  EXPECT_EQ(size(node("a").inputs[1]), "1 x 1");
  EXPECT_EQ(size(node("b").inputs[0]), "1 x 1");
  // -(t(X) %*% p)
  EXPECT_EQ(operationName(node("c")), "-");
  EXPECT_EQ(size(node("c").inputs[0]), "20 x 1");
  // colSums(X) %*% t(colSums(X))
  EXPECT_EQ(operationName(node("d")), "as.scalar");
  EXPECT_EQ(size(node("d").inputs[0]), "1 x 1");
  // As it is written.
  EXPECT_EQ(dag.nodes[node("k").inputs[0]].op, Op::MatMul);
  EXPECT_EQ(dag.nodes[node("k").inputs[1]].op, Op::Input);
}

TEST(Graph, SumsAndTracesOfProductsNeedNoProduct) {
  Graph graph;
  graph.matrix("X", 1000, 20);
  graph.matrix("Y", 20, 1000);
  graph.matrix("Z", 1000, 3);
  graph.matrix("C", 20, 3);
  Dag dag = graph.build("a = trace(X %*% Y); b = rowSums(X %*% Y); c = colSums(X %*% Y); "
                        "d = sum((Z %*% t(C)) %*% t(X)); f = colSums(t(X)); g = trace(t(X) %*% X); "
                        "h = sum(Z %*% t(C) - X)");
  auto node = [&](const std::string &name) { return dag.nodes[dag.assigned.at(name)]; };
  auto size = [&](int id) {
    return dag.nodes[id].known.rows.text() + " x " + dag.nodes[id].known.cols.text();
  };
  EXPECT_EQ(operationName(node("a")), "sum");
  EXPECT_EQ(size(node("a").inputs[0]), "1000 x 20");             // X * t(Y)
  EXPECT_EQ(size(node("b").inputs[1]), "20 x 1");                // X %*% rowSums(Y)
  EXPECT_EQ(size(node("c").inputs[0]), "1 x 20");                // colSums(X) %*% Y
  EXPECT_EQ(operationName(node("f")), "t");                      // t(rowSums(X))
  EXPECT_EQ(operationName(dag.nodes[node("g").inputs[0]]), "*"); // sum(X * X)
  EXPECT_EQ(dag.nodes[node("g").inputs[0]].inputs, (std::vector<int>{0, 0}));
  EXPECT_EQ(operationName(node("h")), "-"); // sum(Z %*% t(C)) - sum(X)
  EXPECT_TRUE(node("h").isScalar());
  // No result is larger than an operand.
  for (const char *name : {"d", "h"})
    EXPECT_TRUE(node(name).isScalar());
}

} // namespace
} // namespace headrace::script
