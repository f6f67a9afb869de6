#include "transform/recipe/LoopModel.h"

#include <algorithm>

namespace headrace {

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

int ReadDim::plainAxis() const {
  return terms.size() == 1 && terms[0].second == 1 ? terms[0].first : -1;
}

std::optional<int64_t> Loop::extent() const {
  int64_t extent = 1;
  for (const LoopPart &part : parts) {
    if (!part.extent)
      return std::nullopt;
    extent *= *part.extent;
  }
  return extent;
}

bool Stage::reduces() const {
  return std::any_of(axes.begin(), axes.end(), [](const StageAxis &a) { return a.reduction; });
}

std::vector<ReadDim> Stage::resultDims() const {
  std::vector<ReadDim> dims;
  for (int axis : result)
    dims.push_back(axis < 0 ? ReadDim{} : ReadDim{{{axis, 1}}, axes[axis].extent});
  return dims;
}

int Stage::findLoop(const std::string &name) const {
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i].name == name)
      return static_cast<int>(i);
  return -1;
}

int Stage::findAxis(const std::string &name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return static_cast<int>(i);
  return -1;
}

bool Stage::isReduction(const Loop &loop) const {
  return std::any_of(loop.parts.begin(), loop.parts.end(),
                     [&](const LoopPart &part) { return axes[part.axis].reduction; });
}

size_t Stage::tileBegin() const {
  size_t begin = loops.size();
  if (!intrinsic.empty()) {
    while (begin > 0 && loops[begin - 1].kind == Loop::Kind::Tensorized)
      --begin;
    return begin;
  }
  while (begin > 0 && loops[begin - 1].isUnrolled())
    --begin;
  return isVectorized() ? begin : loops.size();
}

bool Stage::isVectorized() const {
  return std::any_of(loops.begin(), loops.end(),
                     [](const Loop &loop) { return loop.kind == Loop::Kind::Vectorized; });
}

size_t Stage::parallelLoops() const {
  size_t count = 0;
  while (count < loops.size() && loops[count].kind == Loop::Kind::Parallel)
    ++count;
  return count;
}

bool Stage::isRagged(const LoopPart &part) const {
  if (part.step == 1)
    return false;
  std::optional<int64_t> extent = axes[part.axis].extent;
  if (!extent || *extent % part.step != 0)
    return true;
  for (const Loop &loop : loops)
    for (const LoopPart &other : loop.parts)
      if (other.axis == part.axis && other.step > part.step &&
          (other.step % part.step != 0 || *extent % other.step != 0))
        return true;
  return false;
}

std::optional<int64_t> Stage::knownRemainder(const Loop &loop) const {
  // A stage that is computed inside another covers less at the boundaries of that.
  if (place || loop.parts.size() != 1)
    return std::nullopt;
  const LoopPart &part = loop.parts[0];
  std::optional<int64_t> extent = axes[part.axis].extent;
  for (const Loop &outer : loops)
    for (const LoopPart &other : outer.parts)
      if (other.axis == part.axis && other.step % part.step != 0 && other.step > part.step)
        return std::nullopt;
  if (!extent || *extent % part.step == 0)
    return std::nullopt;
  return *extent % part.step;
}

void Stage::resetLoops() {
  loops.clear();
  for (size_t i = 0; i < axes.size(); ++i)
    loops.push_back({axes[i].name, {{static_cast<int>(i), 1, axes[i].extent}}});
}

//===----------------------------------------------------------------------===//
// Looking things up
//===----------------------------------------------------------------------===//

LoopModel::LoopModel(std::vector<Stage> given) : stages(std::move(given)) {
  for (Stage &stage : stages)
    stage.resetLoops();
}

const Stage *LoopModel::find(const std::string &name) const {
  for (const Stage &stage : stages)
    if (stage.name == name)
      return &stage;
  return nullptr;
}

const Stage &LoopModel::kernelRoot(const std::string &name) const {
  const Stage *at = &stageAt(name);
  while (at->place)
    at = &stageAt(at->place->stage);
  return *at;
}

std::optional<int> LoopModel::positionInside(const std::string &name,
                                             const std::string &outer) const {
  const Stage *at = &stageAt(name);
  while (at->place) {
    const Stage &around = stageAt(at->place->stage);
    if (around.name == outer)
      return around.findLoop(at->place->loop);
    at = &around;
  }
  return std::nullopt;
}

LoopModel LoopModel::withWholeCells() const {
  LoopModel model = *this;
  for (Stage &stage : model.stages) {
    size_t grid = stage.parallelLoops(), tile = stage.tileBegin();
    if (grid == 0 || tile == stage.loops.size())
      continue;
    std::vector<Loop> added;
    for (size_t i = 0; i < grid; ++i)
      for (const LoopPart &part : stage.loops[i].parts) {
        auto walks = [&](const Loop &loop) {
          return std::any_of(loop.parts.begin(), loop.parts.end(),
                             [&](const LoopPart &other) { return other.axis == part.axis; });
        };
        auto begin = stage.loops.begin();
        bool inTile = std::any_of(begin + tile, stage.loops.end(), walks);
        bool inLoops = std::any_of(begin + i + 1, begin + tile, walks);
        if (inTile && !inLoops && stage.isRagged(part))
          added.push_back({stage.loops[i].name + "+", {{part.axis, part.step, 1}}});
      }
    if (added.empty())
      continue;
    // Stages and packs inside the innermost parallel loop are needed for one tile only.
    std::string last = stage.loops[grid - 1].name, inside = added.back().name;
    stage.loops.insert(stage.loops.begin() + grid, added.begin(), added.end());
    for (Stage &other : model.stages)
      if (other.place && other.place->stage == stage.name && other.place->loop == last)
        other.place->loop = inside;
    for (Stage::Pack &pack : stage.packs)
      if (pack.loop == last)
        pack.loop = inside;
  }
  return model;
}

std::string LoopModel::kind() const {
  std::string kind = "loops";
  for (const Stage &stage : stages) {
    if (!stage.intrinsic.empty())
      return "calls";
    if (!stage.isVectorized())
      continue;
    if (stage.reduces() && !stage.isReduction(stage.loops.back()))
      return "tiles";
    if (kind != "rows")
      kind = stage.reduces() ? "rows" : "vectors";
  }
  return kind;
}

std::string LoopModel::summary(const Stage &stage) {
  std::string text;
  for (size_t i = 0; i < stage.loops.size(); ++i) {
    const Loop &loop = stage.loops[i];
    if (i > 0)
      text += i == stage.tileBegin() ? " | " : i == stage.parallelLoops() ? " || " : ", ";
    std::optional<int64_t> extent = loop.extent();
    text += loop.name + " " + (extent ? std::to_string(*extent) : "?");
  }
  return text;
}

} // namespace headrace
