#pragma once

#include "adaptive/Signature.h"
#include "script/graph/Dag.h"
#include "script/host/Value.h"
#include "script/plan/ScriptSettings.h"
#include <unordered_map>

namespace headrace::script {

using Environment = std::unordered_map<std::string, Value>;

/// Kinds, formats and sizes of the variables that a plan reads: what it holds for.
struct PlanSignature {
  adaptive::Signature signature;
  std::vector<Known> known; ///< per variable
  std::vector<bool> missing;

  const std::vector<int64_t> &symbols() const { return signature.symbols(); }
};

/// The history of the variables that a part of a block reads.
class SignatureState {
public:
  SignatureState(std::vector<std::string> variables, adaptive::SizePolicy policy)
      : names(std::move(variables)), policy(policy) {}

  const std::vector<std::string> &variables() const { return names; }

  /// This scalar's value decides a size. False if that was known.
  bool addSizeScalar(const std::string &name) { return sizeScalars.insert(name).second; }

  PlanSignature describe(const Environment &environment);

private:
  std::vector<std::string> names;
  adaptive::SizePolicy policy;
  std::set<std::string> sizeScalars;
  /// Rows, columns and stored cells of each variable.
  std::vector<std::array<adaptive::SizePlace, 3>> places;
};

} // namespace headrace::script
