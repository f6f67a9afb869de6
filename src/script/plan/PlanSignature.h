#pragma once

#include "script/ScriptSettings.h"
#include "script/graph/Dag.h"
#include "script/host/Value.h"
#include <unordered_map>

namespace headrace::script {

using Environment = std::unordered_map<std::string, Value>;

/// The key of a plan: kinds, formats and sizes of the variables it reads.
///
/// Policy for sizes, if it is adaptive: 0 and 1 are always themselves (empty loops, vectors). A
/// small size is compiled in as the constant it is, which decides tiles and unrolling; when the
/// same place shows another size later, it becomes a symbol. A large one is a symbol from the
/// start: its loop is long anyway. Equal sizes share a symbol, so that a plan holds for all sizes
/// equal in the same places.
struct PlanSignature {
  std::vector<int64_t> code;
  std::vector<Known> known; ///< per variable
  std::vector<bool> missing;
  std::vector<int64_t> symbols; ///< their values
};

/// The history of the variables that a part of a block reads.
class SignatureState {
public:
  SignatureState(std::vector<std::string> variables, SizePolicy policy)
      : names(std::move(variables)), policy(policy) {}

  const std::vector<std::string> &variables() const { return names; }

  /// This scalar's value decides a size. False if that was known.
  bool addSizeScalar(const std::string &name) { return sizeScalars.insert(name).second; }

  PlanSignature describe(const Environment &environment);

private:
  struct Position {
    std::optional<int64_t> seen;
    bool general = false;
  };
  Size sizeOf(int64_t value, Position &position, PlanSignature &signature);

  std::vector<std::string> names;
  SizePolicy policy;
  std::set<std::string> sizeScalars;
  /// Rows, columns and stored cells of each variable.
  std::vector<std::array<Position, 3>> positions;
};

} // namespace headrace::script
