// One kernel of given operators, put together as a recipe that names them does it: from the last of
// the program on, producers join what reads them; parts that do not read from each other are merged
// in the end. The outcome depends on the operators and the walk alone, so that planning can compare
// sets of operators, and a recipe gives what was planned.
#pragma once

#include "transform/kernels/KernelGroup.h"

namespace headrace {

class GroupAssembly {
public:
  explicit GroupAssembly(const KernelRules &rules,
                         std::optional<KernelGroup::Walk> walk = std::nullopt)
      : rules(&rules), walk(walk) {}

  /// Adds an operator that precedes all members.
  void add(hr::OperatorInterface op);

  /// All operators as one group; nothing if they cannot be one.
  std::optional<KernelGroup> whole() const;

private:
  const KernelRules *rules;
  std::optional<KernelGroup::Walk> walk; // of the last operator's group
  llvm::SmallVector<KernelGroup, 1> parts;
};

/// The operators, the last of the program first, as one group; nothing if they cannot be one.
std::optional<KernelGroup> assembleGroup(llvm::ArrayRef<hr::OperatorInterface> operators,
                                         const KernelRules &rules,
                                         std::optional<KernelGroup::Walk> walk);

} // namespace headrace
