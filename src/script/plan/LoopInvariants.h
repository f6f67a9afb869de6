#pragma once

#include "script/language/Program.h"
#include "script/plan/BlockPlan.h"
#include "script/plan/Partition.h"
#include "script/plan/PlanSignature.h"

/// Operations of a loop's body whose operands are the same in every iteration are computed once.
/// Whether operands are the same is seen by the versions of the block's inputs when the block runs
/// again, which holds for any nesting of loops, branches and calls of functions, and computes
/// nothing that the script would not have computed:
///
///   while (...) { g = t(X) %*% X %*% p; ... }      once: G = t(X) %*% X    then: g = G %*% p; ...
namespace headrace::script {

/// What tells that a variable still has the same value: a matrix's version, a scalar itself.
using ValueIdentity = std::variant<std::monostate, uint64_t, int64_t, double, bool, std::string>;

/// What a plan computes from: sizes and the values of its inputs, by name.
struct PlanOperands {
  std::vector<int64_t> symbols;
  std::map<std::string, ValueIdentity> inputs;

  /// The inputs that have the same value there and here; none if sizes differ.
  std::set<std::string> sameAs(const PlanOperands &other) const;
};

PlanOperands planOperands(const Dag &dag, std::span<const int64_t> symbols,
                          const Environment &variables);

/// A plan in two parts, and the values that one hands to the other.
struct InvariantParts {
  BlockPlan once; ///< its results are the values that are kept, by names that scripts cannot spell
  BlockPlan rest; ///< the block, with these as inputs
  std::vector<std::string> onceInputs; ///< the inputs that `once` reads
  PlanOperands operands;               ///< what `kept` was computed from
  Environment kept;
  double predictedNanoseconds = 0; ///< that an iteration saves
  double onceSeconds = 0;          ///< that computing `kept` took
  int misses = 0;                  ///< how often in a row the operands were different
};

/// Splits a plan whose inputs with these names had the same values in its previous run. Null if
/// nothing that is worth it depends on them alone.
std::unique_ptr<InvariantParts> splitInvariants(const BlockPlan &plan,
                                                const std::set<std::string> &same,
                                                std::span<const int64_t> symbols, Worth worth);

/// Whether `once` would compute what is kept.
bool isKept(const InvariantParts &parts, const PlanOperands &now);

/// -explain runtime: what is computed once and what that saves.
std::string invariantsText(const InvariantParts &parts, const BasicBlock &block, size_t first,
                           std::span<const int64_t> symbols);

} // namespace headrace::script
