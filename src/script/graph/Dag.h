#pragma once

#include "script/graph/Size.h"
#include "script/language/Ast.h"
#include "script/language/CellFunctions.h"
#include <memory>
#include <set>

/// A straight-line block as a graph of operations: every value once, with what is known of it.
namespace headrace::script {

/// Facts known of a value before it is computed.
struct Known {
  Type type;
  /// The dimensions of a matrix.
  Size rows, cols;
  /// Stored as CSR, with `nonzeros` stored cells.
  bool sparse = false;
  Size nonzeros;
  /// Dense or sparse, depending on the values.
  bool formatOpen = false;
  /// The share of cells that are not 0, if it can be told; an estimate.
  std::optional<double> density;
  /// The value of an integer scalar, if it is known.
  Size value;

  bool sizesKnown() const { return rows.known() && cols.known(); }
};

enum class Op : uint8_t {
  Input, ///< a variable from before the block
  Literal,
  SizeValue, ///< a number that follows from sizes: nrow(X)
  Cell,      ///< a function of cells; scalars and vectors are repeated
  MatMul,
  Transpose,
  Aggregate,
  Fill,           ///< (value, rows, cols): a matrix of one value
  Bind,           ///< matrices next to or below one another
  ToScalar,       ///< a 1 x 1 matrix as a number
  Values,         ///< of a sparse matrix: what is stored, nonzeros x 1
  WithValues,     ///< (pattern, values): a sparse matrix
  SampledProduct, ///< (pattern, u, v): u %*% t(v) at the stored cells, nonzeros x 1
  Sample,         ///< (pattern, x): x at the stored cells, nonzeros x 1
  ZerosKept, ///< (result from stored cells, inputs): itself if the other cells of `whole` are 0
  Function   ///< anything else, by name
};

enum class AggregateKind : uint8_t { Sum, Mean, Min, Max, Product };
/// The cells that one result of an aggregate combines. Each: one result per row, or per column.
enum class Extent : uint8_t { All, EachRow, EachColumn };

struct Dag;

struct Node {
  explicit Node(Op op, std::vector<int> inputs = {}) : op(op), inputs(std::move(inputs)) {}

  Op op;
  std::vector<int> inputs; ///< -1: an argument that was not given
  Known known;
  SourceLocation place;

  CellFunction cell = CellFunction::Add;
  AggregateKind aggregate = AggregateKind::Sum;
  Extent extent = Extent::All;
  bool transposeLeft = false, transposeRight = false;
  bool columns = false; ///< Bind: next to one another
  std::string name;     ///< Input: the variable; Function, Bind: which, as the script calls it
  LiteralValue literal;
  std::vector<std::string> argumentNames; ///< Function: as written, empty if there is none
  /// Has an effect, or depends on when it is done: stays in its order, and apart from equal ones.
  bool ordered = false;
  /// Sizes are equal in value though not in form: not for compiled code.
  bool irregular = false;
  /// ZerosKept: the expression in full, its last node the result, over the inputs in their order.
  std::shared_ptr<const Dag> whole;

  bool isMatrix() const { return known.type.isMatrix(); }
  bool isScalar() const { return known.type.isScalar(); }
};

struct Dag {
  std::vector<Node> nodes; ///< operands first
  /// Variables as they stand after the block.
  std::map<std::string, int> assigned;
  /// How many statements this is made of: fewer than there are if the next one needs a size that
  /// one of these computes.
  size_t statements = 0;
  /// Scalars from before the block whose value decides a size.
  std::set<std::string> wantedSizes;
};

/// The value of a literal that is not a string.
std::optional<double> literalNumber(const Node &node);

/// "%*%", "sum", "+": an operation as -explain names it.
std::string operationName(const Node &node);

/// The graph, a line an operation, with sizes and density.
std::string print(const Dag &dag, const std::string &indent);

} // namespace headrace::script
