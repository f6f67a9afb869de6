#pragma once

#include "script/graph/Dag.h"
#include "script/host/Value.h"
#include <filesystem>
#include <functional>
#include <span>

/// Every operation of a graph without compiling: right for all kinds and formats, quick to start.
namespace headrace::script {

/// Surroundings that operations can reach beyond their operands.
struct HostContext {
  std::function<void(const std::string &)> print;
  /// The directory that relative file names start from.
  std::filesystem::path folder;
  /// Numbers the unseeded random matrices of a run, which are therefore the same in every run.
  int64_t nextSeed = 1;
  /// Nothing is written.
  bool isTrial = false;
  /// Takes what write(...) would put into a file, instead of it; may be empty.
  std::function<void(const std::filesystem::path &, const Value &)> takeWritten = {};
  using Entries = std::vector<std::pair<std::string, Value>>;
  /// Calls a function by its name, with arguments that may have names: all its results. May be
  /// empty.
  std::function<Entries(const std::string &, Entries)> call = {};
};

/// The value of a node whose operands have these values, those not given being empty. Operands may
/// be overwritten if nothing else shares their memory. Throws Error with the node's place.
Value evaluate(const Node &node, std::span<const int64_t> symbols, std::vector<Value> operands,
               HostContext &context);

/// Whether there is a function of that name.
bool executes(const std::string &function);

// Building blocks of evaluate.
Matrix transposed(const Matrix &matrix);
Matrix product(const Matrix &left, bool transposeLeft, const Matrix &right, bool transposeRight);
Value aggregate(AggregateKind kind, Extent extent, const Matrix &matrix);
/// Sparse if a part is and the result is better kept so. `what`: what messages call it.
Matrix bound(bool columns, std::span<const Value> parts, const char *what);
Tensor filled(double value, int64_t rows, int64_t cols);
/// Half-open, 0-based.
Matrix rowsBetween(const Matrix &matrix, int64_t begin, int64_t end);
/// x at the stored cells of the pattern: nonzeros x 1. A row or a column is repeated.
Tensor sampled(const CsrMatrix &pattern, const Matrix &x);

} // namespace headrace::script
