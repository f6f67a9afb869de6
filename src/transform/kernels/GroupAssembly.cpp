#include "transform/kernels/GroupAssembly.h"

using namespace mlir;

namespace headrace {

void GroupAssembly::add(hr::OperatorInterface op) {
  auto accepts = [&](KernelGroup &part) {
    auto isInside = [&](Operation *user) { return part.contains(user); };
    return llvm::any_of(op->getUsers(), isInside) &&
           part.tryJoin(op, !llvm::all_of(op->getUsers(), isInside));
  };
  if (llvm::none_of(parts, accepts))
    parts.emplace_back(op, *rules, parts.empty() ? walk : std::nullopt);
}

std::optional<KernelGroup> GroupAssembly::whole() const {
  KernelGroup whole = parts.front();
  SmallVector<const KernelGroup *> waiting;
  for (const KernelGroup &part : llvm::drop_begin(parts))
    waiting.push_back(&part);
  while (!waiting.empty()) {
    auto *next = llvm::find_if(
        waiting, [&](const KernelGroup *part) { return static_cast<bool>(whole.tryMerge(*part)); });
    if (next == waiting.end())
      return std::nullopt;
    waiting.erase(next);
  }
  return whole;
}

std::optional<KernelGroup> assembleGroup(ArrayRef<hr::OperatorInterface> operators,
                                         const KernelRules &rules,
                                         std::optional<KernelGroup::Walk> walk) {
  GroupAssembly assembly(rules, walk);
  for (hr::OperatorInterface op : operators)
    assembly.add(op);
  return assembly.whole();
}

} // namespace headrace
