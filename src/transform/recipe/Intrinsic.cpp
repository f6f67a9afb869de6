#include "transform/recipe/Intrinsic.h"

#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"

#include <algorithm>
#include <mutex>

namespace headrace {
namespace {

struct Registry {
  ForkSafeMutex mutex;
  std::map<std::string, Intrinsic> intrinsics;
};

Registry &registry() {
  static Registry instance;
  return instance;
}

std::string inQuotes(const std::string &name) { return "'" + name + "'"; }

std::string listAxes(const Stage &pattern) {
  std::string list;
  for (const StageAxis &axis : pattern.axes)
    list += (list.empty() ? "" : ", ") + axis.name + " " + std::to_string(*axis.extent);
  return list;
}

/// A linear access along one dimension: the pattern's axes and their factors.
using Walk = std::vector<std::pair<int, int64_t>>;

/// The dimensions of a value that lie along the axes `of` maps to the pattern's; the rest of it is
/// one point for the intrinsic.
std::vector<Walk> walked(const std::vector<ReadDim> &dims, const std::map<int, int> &of) {
  std::vector<Walk> result;
  for (const ReadDim &dim : dims) {
    Walk walk;
    for (auto [axis, factor] : dim.terms)
      if (auto known = of.find(axis); known != of.end())
        walk.emplace_back(known->second, factor);
    std::sort(walk.begin(), walk.end());
    if (!walk.empty())
      result.push_back(std::move(walk));
  }
  return result;
}

std::string whyAxesDiffer(const Stage &stage, const std::vector<std::string> &loops,
                          const Intrinsic &intrinsic, std::map<int, int> &axes) {
  const Stage &pattern = intrinsic.pattern;
  if (loops.size() != pattern.axes.size())
    return inQuotes(intrinsic.name) + " has " + std::to_string(pattern.axes.size()) + " axes (" +
           listAxes(pattern) + "), not " + std::to_string(loops.size());
  for (size_t i = 0; i < loops.size(); ++i) {
    const Loop &loop = stage.loops[stage.findLoop(loops[i])];
    const StageAxis &wanted = pattern.axes[i];
    std::string along = ", and " + inQuotes(intrinsic.name) + " along " + inQuotes(wanted.name);
    if (loop.extent() != wanted.extent)
      return inQuotes(loop.name) + " has " +
             (loop.extent() ? std::to_string(*loop.extent()) : "an unknown number of") +
             " iterations" + along + " has " + std::to_string(*wanted.extent);
    const LoopPart &part = loop.parts[0];
    if (loop.parts.size() > 1 || part.step != 1)
      return inQuotes(loop.name) + " does not iterate over neighbouring elements";
    if (stage.axes[part.axis].reduction != wanted.reduction)
      return inQuotes(loop.name) + (wanted.reduction ? " is not reduced" : " is reduced") + along +
             (wanted.reduction ? " is" : " is not");
    std::optional<int64_t> extent = stage.axes[part.axis].extent;
    for (const Loop &outer : stage.loops)
      for (const LoopPart &other : outer.parts)
        if (other.axis == part.axis && (!extent || *extent % std::max(other.step, *wanted.extent)))
          return "tiles of " + std::to_string(*wanted.extent) + " along " +
                 inQuotes(stage.axes[part.axis].name) + " are not all complete";
    if (!axes.emplace(part.axis, static_cast<int>(i)).second)
      return inQuotes(stage.axes[part.axis].name) + " has two of the loops";
  }
  return "";
}

} // namespace

std::string unsupportedEqualReason(const Stage &stage, const std::vector<std::string> &loops,
                                   const Intrinsic &intrinsic) {
  const Stage &pattern = intrinsic.pattern;
  std::map<int, int> axes, same;
  if (std::string reason = whyAxesDiffer(stage, loops, intrinsic, axes); !reason.empty())
    return reason;
  for (size_t i = 0; i < pattern.axes.size(); ++i)
    same[static_cast<int>(i)] = static_cast<int>(i);
  if (stage.reads.size() != pattern.reads.size())
    return inQuotes(stage.name) + " reads " + std::to_string(stage.reads.size()) + " values, and " +
           inQuotes(intrinsic.name) + " reads " + std::to_string(pattern.reads.size());
  for (size_t i = 0; i < pattern.reads.size(); ++i) {
    const StageRead &read = stage.reads[i], &wanted = pattern.reads[i];
    std::string where = inQuotes(read.source) + ", where " + inQuotes(intrinsic.name) + " reads " +
                        inQuotes(wanted.source);
    if (read.type != wanted.type)
      return "elements are " + read.type + " in " + where + " of " + wanted.type;
    if (read.irregular || walked(read.dims, axes) != walked(wanted.dims, same))
      return "other elements are read of " + where;
  }
  if (stage.type != pattern.type)
    return "the result is " + stage.type + ", and that of " + inQuotes(intrinsic.name) + " is " +
           pattern.type;
  if (walked(stage.resultDims(), axes) != walked(pattern.resultDims(), same))
    return "the result has another order than that of " + inQuotes(intrinsic.name);
  // Of a kernel's operation, whose program was compared, there is none.
  if (!stage.formula.empty() && stage.formula != pattern.formula)
    return inQuotes(stage.name) + " computes another function of its elements than " +
           inQuotes(intrinsic.name) + ": " + stage.formula + ", not " + pattern.formula;
  return "";
}

void declareIntrinsic(Intrinsic intrinsic) {
  auto refuse = [&](const std::string &reason) {
    throw Error(ErrorKind::InvalidArgument,
                "intrinsic " + inQuotes(intrinsic.name) + ": " + reason);
  };
  const std::string &name = intrinsic.name;
  if (name.empty() || !std::all_of(name.begin(), name.end(),
                                   [](unsigned char c) { return std::isalnum(c) || c == '_'; }))
    refuse("expected a name of letters, digits and '_'");
  for (const StageAxis &axis : intrinsic.pattern.axes)
    if (!axis.extent || *axis.extent < 2)
      refuse("expected sizes that are constants of 2 or more, got " +
             (axis.extent ? std::to_string(*axis.extent) : "a dynamic dimension") + " along " +
             inQuotes(axis.name));
  for (const StageRead &read : intrinsic.pattern.reads)
    if (read.irregular)
      refuse(inQuotes(read.source) + " is gathered; expected sums of axes as indices");
  if (intrinsic.pattern.formula.empty())
    refuse("expected a function of elements alone, got one of their positions");
  std::lock_guard lock(registry().mutex);
  registry().intrinsics[name] = std::move(intrinsic);
}

std::optional<Intrinsic> findIntrinsic(const std::string &name) {
  std::lock_guard lock(registry().mutex);
  auto found = registry().intrinsics.find(name);
  return found == registry().intrinsics.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Intrinsic> declaredIntrinsics() {
  std::lock_guard lock(registry().mutex);
  std::vector<Intrinsic> all;
  for (const auto &[name, intrinsic] : registry().intrinsics)
    all.push_back(intrinsic);
  return all;
}

} // namespace headrace
