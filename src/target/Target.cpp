#include "target/Target.h"

#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Listing.h"

#include <map>
#include <mutex>

using namespace mlir;

namespace headrace {

namespace {

/// Passes of other components ask for machines by the names of targets.
[[maybe_unused]] const bool machinesProvided = [] {
  provideMachines([](StringRef name) -> const Machine & { return findTarget(name).machine(); });
  return true;
}();

/// Added to before anything is compiled.
std::vector<TargetKind> &targetKinds() {
  static std::vector<TargetKind> kinds = shippedTargets();
  return kinds;
}

} // namespace

void addTargetKind(const TargetKind &kind) { targetKinds().push_back(kind); }

const Target &findTarget(StringRef name) {
  static std::map<std::string, std::unique_ptr<const Target>> known;
  static std::mutex mutex;
  CompilerSection section; // no fork while it is locked
  std::lock_guard lock(mutex);
  if (auto found = known.find(name.str()); found != known.end())
    return *found->second;
  auto [kind, processor] = name.split(':');
  std::vector<std::string> names;
  for (const TargetKind &candidate : targetKinds()) {
    if (candidate.name == kind)
      return *(known[name.str()] = candidate.make(name, processor));
    names.push_back(candidate.name.str());
  }
  throw Error(ErrorKind::InvalidArgument,
              "unknown target '" + name.str() + "'; expected " + listed(names));
}

Work Target::workOfCall(const LibraryCall &call) const {
  for (const Expansion *expansion : expansions())
    if (std::optional<Work> work = expansion->workOfCall(call, machine()))
      return std::move(*work);
  // Copies and checks, which no expansion makes, read what they are given.
  Work work;
  if (call.operations > 0)
    work.arithmetic.push_back({OperationKind::Simple, call.type, call.operations});
  return work;
}

std::vector<std::string> expansionNames(const Target &target) {
  std::vector<std::string> names;
  for (const Expansion *expansion : target.expansions())
    if (!llvm::is_contained(names, expansion->name()))
      names.push_back(expansion->name().str());
  return names;
}

std::vector<std::string> expansionNames() {
  std::vector<std::string> names;
  for (const TargetKind &kind : targetKinds())
    for (std::string &name : expansionNames(findTarget(kind.name)))
      if (!llvm::is_contained(names, name))
        names.push_back(std::move(name));
  return names;
}

int64_t workspaceOf(ModuleOp kernel) {
  int64_t bytes = 0;
  kernel.walk([&](Operation *op) {
    if (auto attribute = op->getAttrOfType<IntegerAttr>(kWorkspaceAttr))
      bytes = attribute.getInt();
  });
  return bytes;
}

} // namespace headrace
