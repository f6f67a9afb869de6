#include "target/vta/schedule/write/TileOrder.h"

#include <algorithm>

namespace headrace::vta {

std::vector<Part> partsOf(int64_t begin, int64_t end, int64_t size) {
  std::vector<Part> parts;
  for (; begin < end; begin += size)
    parts.push_back({begin, std::min(size, end - begin)});
  return parts;
}

namespace {

/// A loop in steps of one tile, or of two if virtual threads split it.
std::vector<std::vector<Part>> stepsOf(const std::vector<Part> &parts, bool inPairs) {
  std::vector<std::vector<Part>> steps;
  for (size_t i = 0; i < parts.size(); i += inPairs ? 2 : 1) {
    steps.push_back({parts[i]});
    if (inPairs && i + 1 < parts.size())
      steps.back().push_back(parts[i + 1]);
  }
  return steps;
}

struct Loops {
  std::vector<std::vector<Part>> batch, rows, columns;
};

void addSpots(std::vector<TileGroup> &groups, const Loops &loops, const std::vector<Part> &out,
              int64_t firstIn) {
  for (const auto &batch : loops.batch)
    for (const auto &rows : loops.rows)
      for (const auto &columns : loops.columns) {
        TileGroup &group = groups.emplace_back(); // of these loops at most one has two parts
        for (const Part &n : batch)
          for (const Part &y : rows)
            for (const Part &x : columns)
              for (const Part &o : out)
                group.push_back({n, o, y, x, firstIn});
      }
}

} // namespace

std::vector<TileGroup> tilesInOrder(const OperatorShape &shape, const Schedule &schedule) {
  using Along = Schedule::Along;
  auto split = [&](Along along) { return schedule.threads > 1 && schedule.along == along; };
  Loops all = {
      stepsOf(partsOf(0, shape.batch, schedule.batch), split(Along::Batch)),
      stepsOf(partsOf(0, shape.height, schedule.rows), split(Along::Rows)),
      stepsOf(partsOf(0, shape.width, schedule.columns), split(Along::Columns)),
  };
  std::vector<TileGroup> groups;
  auto addOuts = [&](const Loops &loops) {
    for (const Family &family : shape.families)
      for (const auto &out :
           stepsOf(partsOf(family.begin, family.end, schedule.out), split(Along::Out)))
        addSpots(groups, loops, out, family.firstIn);
  };
  if (schedule.keep == Schedule::Keep::Weights) {
    addOuts(all);
    return groups;
  }
  for (const auto &batch : all.batch)
    for (const auto &rows : all.rows)
      for (const auto &columns : all.columns)
        addOuts({{batch}, {rows}, {columns}});
  return groups;
}

} // namespace headrace::vta
