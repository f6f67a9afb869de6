// The effect of each step on the loops of a model, and when it is rejected.
#include "runtime/system/Error.h"
#include "transform/choices/RecipePlace.h"
#include "transform/recipe/LoopModel.h"
#include "transform/recipe/StepNames.h"

#include <algorithm>
#include <set>

namespace headrace {
namespace {

constexpr int64_t kLargestUnroll = 256;
constexpr int64_t kLargestVector = 1024;

} // namespace

//===----------------------------------------------------------------------===//
// Names in steps
//===----------------------------------------------------------------------===//

const Stage &LoopModel::stageAt(const std::string &name) const {
  if (const Stage *found = find(name))
    return *found;
  throw Unsupported{"there is no stage " + inQuotes(name) + "; the stages are " +
                    listNames(stages)};
}

Stage &LoopModel::stage(const std::string &name) { return const_cast<Stage &>(stageAt(name)); }

int LoopModel::loopOf(const Stage &stage, const std::string &name) const {
  int position = stage.findLoop(name);
  if (position < 0)
    throw Unsupported{inQuotes(stage.name) + " has no axis " + inQuotes(name) + "; its loops are " +
                      listNames(stage.loops)};
  return position;
}

/// Loops that others hang at keep their shape, and those around them: what is computed inside was
/// sized by it. `from` is the outermost loop that changes.
void LoopModel::requireShapeable(const Stage &stage, int from) const {
  for (const Stage &other : stages)
    if (other.place && other.place->stage == stage.name &&
        stage.findLoop(other.place->loop) >= from)
      throw Unsupported{inQuotes(other.name) +
                        " is computed inside its loops already; shape them before"};
}

void LoopModel::requireNewName(const Stage &stage, const std::string &name) const {
  if (stage.findLoop(name) >= 0)
    throw Unsupported{inQuotes(stage.name) + " has a loop " + inQuotes(name) + " already"};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void LoopModel::apply(const RecipeStep &step) {
  LoopModel changed = *this;
  try {
    changed.run(step);
  } catch (const Unsupported &refusal) {
    std::string where = step.line > 0 ? placeInRecipe(step.line)
                                      : "recipe, step " + std::to_string(applied.steps.size() + 1);
    throw Error(ErrorKind::InvalidArgument, where + ", '" + step.text() + "': " + refusal.reason);
  }
  changed.applied.steps.push_back(step);
  *this = std::move(changed);
}

void LoopModel::run(const RecipeStep &step) {
  Stage &on = stage(step.stage);
  const Stage *around = step.kind == RecipeStep::Kind::ComputeAt ? find(step.target) : nullptr;
  for (const Stage *named : {static_cast<const Stage *>(&on), around})
    if (named && !named->hasLoops)
      throw Unsupported{inQuotes(named->name) + " moves data in an order that no loops describe"};
  switch (step.kind) {
  case RecipeStep::Kind::Split:
    requireShapeable(on, loopOf(on, step.axes[0]));
    return split(on, step.axes[0], step.sizes[0],
                 step.names.empty() ? step.axes[0] + ".o" : step.names[0],
                 step.names.empty() ? step.axes[0] + ".i" : step.names[1]);
  case RecipeStep::Kind::Tile:
    for (const std::string &axis : step.axes)
      requireShapeable(on, loopOf(on, axis));
    return tile(on, step);
  case RecipeStep::Kind::Reorder:
    return reorder(on, step.axes);
  case RecipeStep::Kind::Fuse:
    requireShapeable(on, loopOf(on, step.axes[0]));
    return fuse(on, step);
  case RecipeStep::Kind::Parallel:
  case RecipeStep::Kind::Unroll:
  case RecipeStep::Kind::Vectorize:
    for (const std::string &axis : step.axes)
      annotate(on, axis, step.kind);
    return;
  case RecipeStep::Kind::CacheRead:
    return cacheRead(step.stage, step);
  case RecipeStep::Kind::CacheWrite:
    return cacheWrite(step.stage, step);
  case RecipeStep::Kind::ComputeAt:
    return computeAt(on, step);
  case RecipeStep::Kind::Pack:
    return pack(on, step);
  case RecipeStep::Kind::Prefetch:
    return prefetch(on, step);
  case RecipeStep::Kind::Tensorize:
    return tensorize(on, step);
  }
}

void LoopModel::split(Stage &stage, const std::string &axis, int64_t factor,
                      const std::string &outer, const std::string &inner) {
  int position = loopOf(stage, axis);
  Loop loop = stage.loops[position];
  if (factor <= 0)
    throw Unsupported{"a tile has at least one element, not " + std::to_string(factor)};
  if (loop.parts.size() > 1)
    throw Unsupported{inQuotes(axis) +
                      " is several loops in one; split them before they are fused"};
  if (loop.kind != Loop::Kind::Serial)
    throw Unsupported{inQuotes(axis) +
                      " is parallel, unrolled or vectorized already; split it before"};
  LoopPart part = loop.parts[0];
  // A tile that is larger than the axis is the whole axis.
  if (part.extent)
    factor = std::max<int64_t>(1, std::min(factor, *part.extent));
  stage.loops.erase(stage.loops.begin() + position);
  requireNewName(stage, outer);
  requireNewName(stage, inner);
  if (outer == inner)
    throw Unsupported{"both loops would be called " + inQuotes(outer)};
  std::optional<int64_t> count;
  if (part.extent)
    count = (*part.extent + factor - 1) / factor;
  stage.loops.insert(stage.loops.begin() + position,
                     {Loop{outer, {{part.axis, part.step * factor, count}}},
                      Loop{inner, {{part.axis, part.step, factor}}}});
}

void LoopModel::tile(Stage &stage, const RecipeStep &step) {
  if (std::set<std::string>(step.axes.begin(), step.axes.end()).size() != step.axes.size())
    throw Unsupported{"an axis is named twice"};
  int first = static_cast<int>(stage.loops.size());
  for (const std::string &axis : step.axes)
    first = std::min(first, loopOf(stage, axis));
  std::vector<std::string> outers, inners, order;
  for (size_t i = 0; i < step.axes.size(); ++i) {
    outers.push_back(step.axes[i] + ".o");
    inners.push_back(step.axes[i] + ".i");
    split(stage, step.axes[i], step.sizes[i], outers.back(), inners.back());
  }
  for (int i = 0; i < first; ++i)
    order.push_back(stage.loops[i].name);
  order.insert(order.end(), outers.begin(), outers.end());
  for (const Loop &loop : stage.loops)
    if (std::find(order.begin(), order.end(), loop.name) == order.end() &&
        std::find(inners.begin(), inners.end(), loop.name) == inners.end())
      order.push_back(loop.name);
  order.insert(order.end(), inners.begin(), inners.end());
  reorder(stage, order);
}

void LoopModel::reorder(Stage &stage, const std::vector<std::string> &order) {
  std::vector<Loop> loops;
  std::set<std::string> seen;
  for (const std::string &name : order) {
    loops.push_back(stage.loops[loopOf(stage, name)]);
    if (!seen.insert(name).second)
      throw Unsupported{inQuotes(name) + " is named twice"};
  }
  std::vector<Loop> missing;
  for (const Loop &loop : stage.loops)
    if (!seen.count(loop.name))
      missing.push_back(loop);
  if (!missing.empty())
    throw Unsupported{"the order of all loops is needed; missing: " + listNames(missing)};
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i].name != stage.loops[i].name) {
      requireShapeable(stage, static_cast<int>(i));
      break;
    }
  stage.loops = std::move(loops);
  checkNesting(stage);
}

/// Keeps the invariants of earlier steps: tiles inside their tiles, threads outside, vectors
/// inside.
void LoopModel::checkNesting(const Stage &stage) const {
  std::map<int, std::pair<int64_t, std::string>> innermost;
  bool insideSerial = false, insideCall = false;
  for (size_t i = 0; i < stage.loops.size(); ++i) {
    const Loop &loop = stage.loops[i];
    for (const LoopPart &part : loop.parts) {
      auto [known, isNew] = innermost.try_emplace(part.axis, part.step, loop.name);
      if (!isNew && known->second.first < part.step)
        throw Unsupported{inQuotes(known->second.second) + " iterates inside a tile of " +
                          inQuotes(loop.name) + " and must stay inside it"};
      known->second = {part.step, loop.name};
    }
    if (insideCall && loop.kind != Loop::Kind::Tensorized)
      throw Unsupported{inQuotes(loop.name) + " cannot be inside a call of " +
                        inQuotes(stage.intrinsic)};
    insideCall |= loop.kind == Loop::Kind::Tensorized;
    if (loop.kind == Loop::Kind::Parallel && insideSerial)
      throw Unsupported{inQuotes(loop.name) +
                        " is parallel: only parallel loops may be outside it"};
    insideSerial |= loop.kind != Loop::Kind::Parallel;
    if (loop.kind == Loop::Kind::Vectorized)
      checkVector(stage, static_cast<int>(i));
  }
}

void LoopModel::checkVector(const Stage &stage, int position) const {
  const Loop &loop = stage.loops[position];
  std::optional<int64_t> extent = loop.extent();
  if (!extent)
    throw Unsupported{"the extent of " + inQuotes(loop.name) + " is not known; split it first"};
  if (*extent > kLargestVector)
    throw Unsupported{inQuotes(loop.name) + " has " + std::to_string(*extent) +
                      " iterations, more than a vector can hold (" +
                      std::to_string(kLargestVector) + "); split it first"};
  for (size_t i = position + 1; i < stage.loops.size(); ++i)
    if (!stage.loops[i].isUnrolled())
      throw Unsupported{inQuotes(loop.name) +
                        " is not innermost: " + inQuotes(stage.loops[i].name) +
                        " is inside it and neither unrolled nor vectorized"};
  if (!stage.isReduction(loop))
    return;
  if (!stage.reorderable)
    throw Unsupported{inQuotes(loop.name) + " is a reduction axis, and the order in which " +
                      inQuotes(stage.name) + " combines its elements matters"};
  if (stage.tileBegin() + 1 != stage.loops.size())
    throw Unsupported{inQuotes(loop.name) +
                      " is a reduction axis: a vector along it must be the only loop of its tile"};
}

void LoopModel::fuse(Stage &stage, const RecipeStep &step) {
  int first = loopOf(stage, step.axes[0]);
  Loop fused{"", {}, stage.loops[first].kind};
  for (size_t i = 0; i < step.axes.size(); ++i) {
    const std::string &axis = step.axes[i];
    int position = loopOf(stage, axis);
    if (position != first + static_cast<int>(i))
      throw Unsupported{inQuotes(axis) + " is not directly inside " + inQuotes(step.axes[i - 1])};
    const Loop &loop = stage.loops[position];
    if (loop.kind != fused.kind)
      throw Unsupported{inQuotes(axis) + " and " + inQuotes(step.axes[0]) + " run differently"};
    fused.name += (i ? "_" : "") + axis;
    fused.parts.insert(fused.parts.end(), loop.parts.begin(), loop.parts.end());
  }
  if (!step.names.empty())
    fused.name = step.names[0];
  auto begin = stage.loops.begin() + first;
  stage.loops.erase(begin, begin + static_cast<int>(step.axes.size()));
  requireNewName(stage, fused.name);
  stage.loops.insert(stage.loops.begin() + first, fused);
}

void LoopModel::annotate(Stage &stage, const std::string &axis, RecipeStep::Kind kind) {
  int position = loopOf(stage, axis);
  Loop &loop = stage.loops[position];
  if (loop.kind != Loop::Kind::Serial)
    throw Unsupported{inQuotes(axis) + " is parallel, unrolled or vectorized already"};
  if (kind == RecipeStep::Kind::Parallel) {
    if (stage.isReduction(loop))
      throw Unsupported{inQuotes(axis) +
                        " is a reduction axis; its iterations are not independent"};
    if (stage.place)
      throw Unsupported{inQuotes(stage.name) + " is computed inside " +
                        inQuotes(stage.place->stage) +
                        ", whose loops are shared among threads instead"};
    loop.kind = Loop::Kind::Parallel;
    return checkNesting(stage);
  }
  for (const Stage &other : stages)
    if (other.place && other.place->stage == stage.name &&
        stage.findLoop(other.place->loop) >= position)
      throw Unsupported{inQuotes(other.name) + " is computed inside it or inside a loop in it"};
  if (kind == RecipeStep::Kind::Unroll) {
    std::optional<int64_t> extent = loop.extent();
    if (!extent)
      throw Unsupported{"the extent of " + inQuotes(axis) + " is not known; split it first"};
    if (*extent > kLargestUnroll)
      throw Unsupported{inQuotes(axis) + " has " + std::to_string(*extent) +
                        " iterations, more than " + std::to_string(kLargestUnroll) +
                        "; split it first"};
    loop.kind = Loop::Kind::Unrolled;
  } else {
    loop.kind = Loop::Kind::Vectorized;
  }
  checkNesting(stage);
}

} // namespace headrace
