#pragma once

#include "script/graph/DagBuilder.h"
#include <unordered_map>

namespace headrace::script {

/// Rows and columns of an operand.
struct Extents {
  double rows, cols;
};

/// Adds operations to a graph: finds equal ones, derives sizes, types and density, and rejects
/// operands that do not fit.
class GraphWriter {
public:
  GraphWriter(Dag &dag, const DagOptions &options) : dag(dag), options(options) {}

  SourceLocation place; ///< of what is being written

  const Node &at(int node) const { return dag.nodes[node]; }
  /// The node itself, or an equal one that is there already.
  int add(Node node);

  int literal(LiteralValue value);
  int number(double value) { return literal(value); }
  int sizeValue(const Size &size);
  int cell(CellFunction function, std::vector<int> operands);
  int matmul(int left, int right);
  int transpose(int x);
  int aggregate(AggregateKind kind, Extent extent, int x);
  /// The trace of a product without the product; -1 for any other node.
  int traceOfProduct(int product);
  int fill(int value, int rows, int cols);
  /// `name`: what the script calls it.
  int bind(bool columns, std::vector<int> parts, const std::string &name);
  int toScalar(int x);
  int toMatrix(int x);
  int function(std::string name, std::vector<int> inputs, Known known, bool ordered = false,
               std::vector<std::string> argumentNames = {});

  /// The value of a scalar as a size; unknown ones are noted in the graph or end it (see Cut).
  Size sizeOf(int node);
  /// nrow, ncol or length as a scalar.
  int rowsOf(int x);
  int colsOf(int x);

  /// The statement needs what an earlier one of the graph computes.
  struct Cut {};
  bool mayCut = false;
  void cutIfUnknown(int node);

  /// Whether a variable has a value here.
  bool isAssigned(const std::string &variable) const {
    return dag.assigned.contains(variable) || options.variable(variable);
  }

  [[noreturn]] void fail(const std::string &message,
                         ErrorKind kind = ErrorKind::ShapeMismatch) const;
  /// "200 x 10"
  std::string sizesText(const Known &known) const;
  /// Whether there is a host function of that name, as far as it is known here.
  bool executes(const std::string &function) const {
    return !options.executes || options.executes(function);
  }
  bool inRun() const { return options.symbols.has_value(); }
  /// Equal as far as can be told; `irregular` is set if only the values are.
  bool fits(const Size &a, const Size &b, bool &irregular) const;
  void expectMatrix(int x, const char *what);

private:
  // Products in another order (ProductRules.cpp)
  std::optional<Extents> extentsOf(int x, bool transposed) const;
  bool isInvariant(int x) const;
  int negatedProduct(int left, int right);
  int reassociatedProduct(int left, int right);
  int sumOfProduct(int product, Extent extent);
  int sumWithProduct(int x);
  int aggregateOfTranspose(AggregateKind kind, Extent extent, int x);

  void dropFills(std::vector<int> &operands) const;
  void broadcast(Node &node);
  std::string key(const Node &node) const;

  Dag &dag;
  const DagOptions &options;
  std::unordered_map<std::string, int> known;
  /// Whether a node is made of invariant variables alone, as far as that was asked.
  mutable std::vector<std::optional<bool>> invariantNodes;
};

} // namespace headrace::script
