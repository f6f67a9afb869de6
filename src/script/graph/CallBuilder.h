#pragma once

#include "script/graph/GraphWriter.h"
#include "script/language/Builtins.h"

namespace headrace::script {

/// Calls of built-in functions as operations of a graph.
class CallBuilder {
public:
  CallBuilder(GraphWriter &write, std::function<int(const Expr &)> build)
      : write(write), build_(std::move(build)) {}

  /// The call's (first) result.
  int build(const Call &call, SourceLocation place) { return build(call, place, 1).front(); }
  /// The first `count` of its results.
  std::vector<int> build(const Call &call, SourceLocation place, size_t count);

private:
  using Rule = int (CallBuilder::*)();
  static const std::unordered_map<std::string_view, Rule> &rules();

  bool exists(const Call &target) const;
  /// The operand of a parameter; -1 if it was not given.
  int argument(std::string_view name) const;
  bool given(std::string_view name) const { return argument(name) >= 0; }
  /// The whole call as a host function whose result has these properties: the one of its own name,
  /// or of another.
  int function(Known known, bool ordered = false, const char *name = nullptr);
  int hostFunction(bool ordered = false, const char *name = nullptr);
  int onFrame();

  using Results = std::vector<Known> (CallBuilder::*)();
  /// Functions of several results, and what is known of each.
  static const std::unordered_map<std::string_view, Results> &severalResults();
  std::vector<int> resultsOf(const std::vector<Known> &known, size_t count);
  std::vector<Known> eigen();
  std::vector<Known> lu();
  std::vector<Known> qr();
  std::vector<Known> svd();
  std::vector<Known> remove();
  std::vector<Known> matrices();
  std::vector<Known> encoded();

  int matrix();
  int rand();
  int seq();
  int bindColumns();
  int bindRows();
  int bindLists();
  int transpose() { return write.transpose(all[0]); }
  int rows();
  int cols();
  int length();
  int log();
  int minimum() { return extreme(CellFunction::Min, AggregateKind::Min); }
  int maximum() { return extreme(CellFunction::Max, AggregateKind::Max); }
  int extreme(CellFunction cell, AggregateKind aggregate);
  int mean();
  int variance() { return spread(Extent::All, false); }
  int deviation() { return spread(Extent::All, true); }
  int spread(Extent extent, bool root);
  int variances();
  int trace();
  int toScalar() { return write.toScalar(all[0]); }
  int toMatrix() { return write.toMatrix(all[0]); }
  int castScalar();
  int ifelse();
  int likeFirst();
  /// The operand itself: how a matrix is stored is not the script's to say.
  int same() { return all[0]; }
  int outer();
  int diag();
  int solve();
  int oneColumn();
  int effect() { return hostFunction(true); }
  int read();
  int compare();

  Known matrixOf(Size rows, Size cols) const;

  GraphWriter &write;
  std::function<int(const Expr &)> build_;

  // The call being built.
  const Call *call = nullptr;
  std::vector<int> all;
};

} // namespace headrace::script
