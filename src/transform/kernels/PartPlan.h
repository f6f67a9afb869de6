// The fastest kernels of a few connected operators, by predicted time: exactly.
//
// Every kernel that could compute some of the operators is a candidate, with the way it walks rows
// if it does: as GroupAssembly puts it together, whatever way led to it. Candidates are found from
// each operator on as the last of theirs: one operator is added at a time that could share a kernel
// with a member, and a memo table keeps each set of operators once. A plan takes every
// operator in one candidate. The search for the fastest is branch and bound: from the last operator
// on, a plan is left if the operators that remain, at the least that any candidate charges for
// them, make the plan no faster than the best one known.
#pragma once

#include "transform/kernels/GroupAssembly.h"
#include "transform/kernels/GroupCost.h"
#include "transform/kernels/KernelLinks.h"

namespace headrace {

/// Counts of the planning, for reports.
struct PlanCounts {
  size_t parts = 0;             // connected operators that could share kernels in more than one way
  size_t tooLarge = 0;          // of these, those that were planned piece by piece
  size_t sets = 0;              // of operators, that were looked at as kernels
  size_t candidates = 0;        // of these, those that can be one
  size_t plans = 0;             // that were priced, whole or begun
  size_t tooSlow = 0;           // of these, those that were left for their time
  size_t cyclic = 0;            // and for kernels that would wait for each other
  double before = 0, after = 0; // microseconds of the parts: of the first plan, of the one chosen

  std::string text() const;
};

class PartPlan {
public:
  /// Whether a recipe leaves room for such a kernel.
  using IsAllowed = llvm::function_ref<bool(const KernelGroup &)>;

  /// Operators in the program's order.
  PartPlan(
      llvm::ArrayRef<hr::OperatorInterface> operators, const KernelRules &rules, GroupCost &cost,
      const KernelLinks &links, PlanCounts &counts,
      IsAllowed isAllowed = [](const KernelGroup &) { return true; });

  static constexpr size_t kMaxOperators = 16;

  /// The kernels of a plan that takes less than `microseconds`; nothing if there is no such plan,
  /// or if there are too many candidates to search.
  std::optional<llvm::SmallVector<KernelGroup>> fasterThan(double microseconds);
  /// Whether that found too many candidates.
  bool isTooLarge() const { return tooLarge; }

private:
  using Set = uint32_t; // bit i: operator i
  struct Candidate {
    Set members;
    double microseconds;
    KernelGroup group;
  };

  bool findCandidates();
  bool findCandidates(unsigned last, std::optional<KernelGroup::Walk> walk);
  bool isClosed(Set members) const;
  Set sharingWith(Set members) const;
  void leaveThoseBetterApart();
  void setPrices();
  void choose(Set left, double spent);
  bool isAcyclic() const;

  llvm::ArrayRef<hr::OperatorInterface> operators;
  const KernelRules &rules;
  GroupCost &cost;
  const KernelLinks &links;
  PlanCounts &counts;
  IsAllowed isAllowed;
  llvm::SmallVector<Set> linked;  // by operator: those that it may share a kernel with
  llvm::SmallVector<Set> waiting; // by operator: those that wait for it
  llvm::SmallVector<Set> outside; // by operator: those that wait for it through others than these
  std::vector<llvm::SmallVector<Candidate>> candidates; // by their last operator
  llvm::SmallVector<double> prices; // by operator: the least that a candidate charges for it
  llvm::SmallVector<const Candidate *> chosen, best;
  double bestMicroseconds = 0;
  size_t visited = 0;
  size_t setsBefore = 0; // that other parts looked at
  bool tooLarge = false;
};

} // namespace headrace
