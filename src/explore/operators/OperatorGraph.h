// A program as operators with the volumes that they move, from which task graphs are made
// (OperatorTasks.h). Operators come from a model (driver/OperatorsOfProgram.h) or from a list of
// sizes (SizedProgram.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::explore {

/// A batch of products A B of m x k and k x n elements.
struct ContractionSizes {
  int64_t m, n, k;
  int64_t batch = 1;

  int64_t points() const { return batch * m * n * k; }
};

/// Linear systems; `scale` is the number of elements of a number, 2 for complex ones.
struct SystemSizes {
  int64_t batch, unknowns, columns, scale;
  bool positiveDefinite = false;
};

struct Operator {
  enum class Kind {
    Input,       ///< of the program
    View,        ///< the same elements, in another order if its operand is `Stored`
    Map,         ///< element by element
    Reduction,   ///< of one operand, or of windows of it
    Contraction, ///< of one operand with weights, or of two
    Convolution, ///< a contraction of filters with patches of its operand
    Copy,        ///< of part of its operand, or of its operand into part of the result
    Concat,
    Systems, ///< solutions of linear systems, from matrices and right-hand sides
    Other    ///< whatever reads all of its operands before it begins
  };
  enum class Access {
    InOrder, ///< elements as they come, each once or several times in a row
    Stored   ///< in another order: all of them must be there first
  };
  struct Operand {
    int from; ///< the number of the operator that gives it
    Access access = Access::InOrder;
  };

  std::string name;
  Kind kind = Kind::Map;
  int64_t output = 0;              ///< elements of the result
  int64_t points = 0;              ///< of its iteration domain; none if it only moves elements
  std::vector<Operand> operands{}; ///< without weights and other constants
  /// The sizes of a contraction, a convolution or a linear system.
  ContractionSizes contraction{1, 1, 1};
  SystemSizes systems{1, 1, 1, 1};
  /// The user's operators that it consists of, and where they are.
  std::vector<std::string> names{};
  std::string place{};
  int kernel = -1; ///< the kernel that the compiler puts it into
  /// Points of maps that are computed along with it.
  int64_t fusedPoints = 0;
};

struct OperatorGraph {
  std::string name;
  std::vector<Operator> operators; ///< each after its operands
  std::vector<int> results;        ///< of the program

  /// Points of all iteration domains: the program's work.
  int64_t points() const;
};

/// The tasks of a task graph: operators, or kernels.
enum class Granularity { Map, Fused };

/// Maps are computed along with the operator of the same kernel whose result they alone read, or
/// that alone reads theirs.
OperatorGraph fused(const OperatorGraph &graph);

} // namespace headrace::explore
