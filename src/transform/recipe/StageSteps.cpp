// Steps on how a stage stands to others: if it is computed, what is copied for it, what computes
// it.
#include "transform/recipe/Intrinsic.h"
#include "transform/recipe/LoopModel.h"
#include "transform/recipe/Prefetch.h"
#include "transform/recipe/StepNames.h"

#include <algorithm>

namespace headrace {

/// How much of each axis of `stage` one iteration of the loop at `position` of `outer` needs;
/// `known` holds those found so far, because many ways can lead from one stage to another.
const LoopModel::Region &LoopModel::regionInside(const Stage &stage, const std::string &outer,
                                                 int position,
                                                 std::map<const Stage *, Region> &known) const {
  auto found = known.find(&stage);
  if (found != known.end())
    return found->second;
  Region region;
  for (const StageAxis &axis : stage.axes)
    region.push_back(axis.extent);
  if (stage.name == outer) {
    for (int i = 0; i <= position; ++i)
      for (const LoopPart &part : stage.loops[i].parts)
        region[part.axis] = part.step;
    return known[&stage] = region;
  }
  for (size_t dim = 0; dim < stage.result.size(); ++dim) {
    int axis = stage.result[dim];
    if (axis < 0)
      continue;
    std::optional<int64_t> needed = 0;
    for (const Stage &reader : stages)
      for (const StageRead &read : reader.reads) {
        if (read.source != stage.name)
          continue;
        const Region &around = regionInside(reader, outer, position, known);
        std::optional<int64_t> span = 1;
        if (read.irregular)
          span = stage.axes[axis].extent;
        else
          for (auto [of, factor] : read.dims[dim].terms)
            span = span && around[of] ? std::optional(*span + std::abs(factor) * (*around[of] - 1))
                                      : std::nullopt;
        needed = needed && span ? std::optional(std::max(*needed, *span)) : std::nullopt;
      }
    if (needed && stage.axes[axis].extent)
      needed = std::min(*needed, *stage.axes[axis].extent);
    region[axis] = needed;
  }
  return known[&stage] = region;
}

void LoopModel::computeAt(Stage &stage, const RecipeStep &step) {
  const Stage &outer = stageAt(step.target);
  if (outer.name == stage.name)
    throw Unsupported{"a stage is not computed inside itself"};
  if (stage.place)
    throw Unsupported{inQuotes(stage.name) + " is computed inside " + inQuotes(stage.place->stage) +
                      " already"};
  if (stage.isOutput)
    throw Unsupported{
        inQuotes(stage.name) +
        " is needed completely: it is a result of the program, or is reshaped or checked"};
  requireShapeable(stage);
  for (size_t i = 0; i < stage.loops.size(); ++i)
    if (stage.loops.size() != stage.axes.size() || stage.loops[i].name != stage.axes[i].name ||
        stage.loops[i].kind != Loop::Kind::Serial)
      throw Unsupported{
          "its loops have been shaped already; say first where it is computed, then how"};
  int position = step.axes.empty() ? -1 : loopOf(outer, step.axes[0]);
  if (position >= static_cast<int>(outer.tileBegin()))
    throw Unsupported{inQuotes(step.axes[0]) + " is part of a register tile"};
  if (position >= 0 && position + 1 < static_cast<int>(outer.parallelLoops()))
    throw Unsupported{inQuotes(step.axes[0]) +
                      " has parallel loops inside it; the innermost of them, " +
                      inQuotes(outer.loops[outer.parallelLoops() - 1].name) + ", is the place"};
  bool isRead = false;
  for (const Stage &reader : stages)
    for (const StageRead &read : reader.reads) {
      if (read.source != stage.name)
        continue;
      std::optional<int> inside =
          reader.name == outer.name ? position : positionInside(reader.name, outer.name);
      if (!inside || *inside < position)
        throw Unsupported{inQuotes(stage.name) + " is read by " + inQuotes(reader.name) +
                          ", which is not computed inside " +
                          (step.axes.empty() ? inQuotes(outer.name) : inQuotes(step.axes[0]))};
      isRead = true;
    }
  if (!isRead)
    throw Unsupported{inQuotes(outer.name) + " does not read " + inQuotes(stage.name)};
  std::map<const Stage *, Region> known;
  const Region &region = regionInside(stage, outer.name, position, known);
  for (size_t i = 0; i < region.size(); ++i)
    stage.axes[i].extent = region[i];
  stage.place = {step.target, step.axes.empty() ? "" : step.axes[0]};
  stage.resetLoops();
}

void LoopModel::cacheRead(const std::string &readerName, const RecipeStep &step) {
  Stage copy;
  copy.name = step.names.empty() ? step.target + ".local" : step.names[0];
  if (find(copy.name))
    throw Unsupported{"there is a stage " + inQuotes(copy.name) + " already"};
  size_t position = 0;
  while (stages[position].name != readerName)
    ++position;
  Stage &reader = stages[position];
  auto read = std::find_if(reader.reads.begin(), reader.reads.end(),
                           [&](const StageRead &r) { return r.source == step.target; });
  if (read == reader.reads.end()) {
    std::string known;
    for (const StageRead &r : reader.reads)
      known += (known.empty() ? "" : ", ") + r.source;
    throw Unsupported{inQuotes(readerName) + " does not read " + inQuotes(step.target) +
                      "; it reads " + known};
  }
  StageRead whole{step.target, {}};
  for (size_t dim = 0; dim < read->dims.size(); ++dim) {
    int axis = read->dims[dim].plainAxis();
    std::string name = axis >= 0 ? reader.axes[axis].name : "d" + std::to_string(dim);
    if (copy.findAxis(name) >= 0)
      name = "d" + std::to_string(dim);
    copy.axes.push_back({name, read->dims[dim].extent});
    whole.dims.push_back({{{static_cast<int>(dim), 1}}, read->dims[dim].extent});
    copy.result.push_back(static_cast<int>(dim));
  }
  copy.reads.push_back(whole);
  copy.resetLoops();
  for (StageRead &r : reader.reads)
    if (r.source == step.target)
      r.source = copy.name;
  stages.insert(stages.begin() + static_cast<int>(position), std::move(copy));
}

void LoopModel::cacheWrite(const std::string &writerName, const RecipeStep &step) {
  size_t position = 0;
  while (stages[position].name != writerName)
    ++position;
  Stage &writer = stages[position];
  Stage inner = writer;
  inner.name = step.names.empty() ? writerName + ".local" : step.names[0];
  if (find(inner.name))
    throw Unsupported{"there is a stage " + inQuotes(inner.name) + " already"};
  requireShapeable(writer);
  if (writer.place)
    throw Unsupported{inQuotes(writerName) + " is computed inside another stage already"};
  for (const Loop &loop : writer.loops)
    if (writer.findAxis(loop.name) < 0 || loop.kind != Loop::Kind::Serial)
      throw Unsupported{"the loops of " + inQuotes(writerName) + " have been shaped already"};
  inner.isOutput = false;
  writer.axes.clear();
  writer.reads.clear();
  StageRead whole{inner.name, {}};
  for (size_t dim = 0; dim < inner.result.size(); ++dim) {
    if (inner.result[dim] < 0)
      throw Unsupported{inQuotes(writerName) +
                        " does not iterate over its result along single axes"};
    StageAxis axis = inner.axes[inner.result[dim]];
    whole.dims.push_back({{{static_cast<int>(dim), 1}}, axis.extent});
    writer.axes.push_back(axis);
    writer.result[dim] = static_cast<int>(dim);
  }
  writer.reads.push_back(whole);
  writer.resetLoops();
  stages.insert(stages.begin() + static_cast<int>(position), std::move(inner));
}

void LoopModel::pack(Stage &stage, const RecipeStep &step) {
  bool reads = std::any_of(stage.reads.begin(), stage.reads.end(),
                           [&](const StageRead &r) { return r.source == step.target; });
  if (!reads)
    throw Unsupported{inQuotes(stage.name) + " does not read " + inQuotes(step.target)};
  int position = loopOf(stage, step.axes[0]);
  if (position >= static_cast<int>(stage.tileBegin()))
    throw Unsupported{inQuotes(step.axes[0]) + " is part of a register tile"};
  if (position + 1 < static_cast<int>(stage.parallelLoops()))
    throw Unsupported{inQuotes(step.axes[0]) + " has parallel loops inside it"};
  for (const Stage::Pack &other : stage.packs)
    if (other.source == step.target)
      throw Unsupported{inQuotes(step.target) + " is packed already"};
  stage.packs.push_back({step.target, step.axes[0]});
}

void LoopModel::prefetch(Stage &stage, const RecipeStep &step) {
  bool reads = std::any_of(stage.reads.begin(), stage.reads.end(),
                           [&](const StageRead &r) { return r.source == step.target; });
  if (!reads)
    throw Unsupported{inQuotes(stage.name) + " does not read " + inQuotes(step.target)};
  if (find(step.target))
    throw Unsupported{inQuotes(step.target) + " is computed, not read from memory"};
  if (step.sizes[0] < 0 || step.sizes[0] > kMaxPanelsAhead)
    throw Unsupported{"expected 0 to " + std::to_string(kMaxPanelsAhead) + " panels"};
  if (!stage.prefetches.emplace(step.target, step.sizes[0]).second)
    throw Unsupported{inQuotes(step.target) + " is fetched by another step already"};
}

/// The loops that the step names are innermost, and compute what the intrinsic does.
void LoopModel::tensorize(Stage &stage, const RecipeStep &step) {
  std::optional<Intrinsic> intrinsic = findIntrinsic(step.target);
  if (!intrinsic) {
    std::vector<Intrinsic> declared = declaredIntrinsics();
    throw Unsupported{"no intrinsic " + inQuotes(step.target) +
                      " is declared; declared are: " + listNames(declared)};
  }
  if (!stage.intrinsic.empty())
    throw Unsupported{inQuotes(stage.name) + " calls " + inQuotes(stage.intrinsic) + " already"};
  for (const std::string &name : step.axes) {
    Loop &loop = stage.loops[loopOf(stage, name)];
    if (loop.kind == Loop::Kind::Tensorized)
      throw Unsupported{inQuotes(name) + " is named twice"};
    if (loop.kind != Loop::Kind::Serial)
      throw Unsupported{inQuotes(name) + " is parallel, unrolled or vectorized already"};
    for (const Stage &other : stages)
      if (other.place && other.place->stage == stage.name && other.place->loop == name)
        throw Unsupported{inQuotes(other.name) + " is computed inside " + inQuotes(name)};
    loop.kind = Loop::Kind::Tensorized;
  }
  stage.intrinsic = step.target;
  if (std::string reason = unsupportedEqualReason(stage, step.axes, *intrinsic); !reason.empty())
    throw Unsupported{reason};
  checkNesting(stage);
}

} // namespace headrace
