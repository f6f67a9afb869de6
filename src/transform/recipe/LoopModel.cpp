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

std::string LoopModel::kind() const {
  std::string kind = "loops";
  for (const Stage &stage : stages) {
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
