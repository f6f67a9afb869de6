#include "target/vta/schedule/write/OperatorWriter.h"

#include "target/vta/schedule/write/PoolWriter.h"
#include "target/vta/schedule/write/ProductWriter.h"

#include <algorithm>

namespace headrace::vta {

namespace {

class OperatorWriter {
public:
  OperatorWriter(const Operator &op, const OperatorShape &shape, const AluProgram &stages,
                 const Schedule &schedule, const OperatorBuffers &buffers, CommandStream &stream)
      : op(op), shape(shape), schedule(schedule), buffers(buffers), stream(stream),
        plan(shape, stages, schedule, stream.configuration()),
        tiles(stream, shape, stages, plan, buffers),
        products(stream, shape, schedule, plan, buffers), pool(stream, shape, plan, buffers),
        storedBy(static_cast<size_t>(plan.results.count), Pipeline::none),
        hasStages(!stages.passes.empty()) {}

  void write() {
    for (const TileGroup &group : tilesInOrder(shape, schedule))
      addGroup(group);
    pipeline.write(stream);
    stream.endRun();
  }

private:
  void addGroup(const TileGroup &group) {
    std::vector<size_t> slots;
    for (size_t i = 0; i < group.size(); ++i)
      slots.push_back(nextSlot++ % storedBy.size());
    auto addressOf = [&](size_t i) { return plan.results.place(static_cast<int64_t>(slots[i])); };
    if (shape.multiplies)
      for (size_t step = 0; const Part &in : stepsInOrder()) {
        for (size_t i = 0; i < group.size(); ++i) {
          if (step == 0)
            addReset(group[i], addressOf(i), storedBy[slots[i]]);
          products.addStep(pipeline, group[i], addressOf(i), in);
        }
        ++step;
      }
    else
      for (size_t i = 0; i < group.size(); ++i)
        addCells(group[i], addressOf(i), storedBy[slots[i]]);
    for (size_t i = 0; i < group.size(); ++i)
      storedBy[slots[i]] = addFinish(group[i], addressOf(i));
  }

  // Every other tile goes through its steps backwards: it begins with what is on the chip.
  std::vector<Part> stepsInOrder() {
    std::vector<Part> steps = partsOf(0, shape.depth, schedule.in);
    if (backwards)
      std::ranges::reverse(steps);
    backwards = !backwards;
    return steps;
  }

  void addReset(const Tile &tile, int64_t address, Pipeline::Action stored) {
    pipeline.add(Module::Compute, [=, this] { tiles.reset(address, tile.elements()); }, {stored});
  }

  void addCells(const Tile &tile, int64_t address, Pipeline::Action stored) {
    auto begin = [=, this] {
      if (const auto *cells = std::get_if<Cells>(&op.core)) {
        tiles.loadCells(buffers.inputs[0], cells->input, tile, address);
        return;
      }
      tiles.reset(address, tile.elements());
      pool.write(tile, address);
    };
    pipeline.add(Module::Compute, begin, {stored});
  }

  Pipeline::Action addFinish(const Tile &tile, int64_t address) {
    if (hasStages)
      pipeline.add(Module::Compute, [=, this] { tiles.finish(tile, address); });
    return pipeline.add(Module::Store, [=, this] { tiles.store(tile, address); },
                        {pipeline.lastOf(Module::Compute)});
  }

  const Operator &op;
  const OperatorShape &shape;
  const Schedule &schedule;
  const OperatorBuffers &buffers;
  CommandStream &stream;
  ChipPlan plan;
  Pipeline pipeline;
  TileWriter tiles;
  ProductWriter products;
  PoolWriter pool;
  /// The store after which each slot of results is free.
  std::vector<Pipeline::Action> storedBy;
  size_t nextSlot = 0;
  bool backwards = false, hasStages;
};

} // namespace

void writeOperator(const Operator &op, const OperatorShape &shape, const AluProgram &stages,
                   const Schedule &schedule, const OperatorBuffers &buffers,
                   CommandStream &stream) {
  OperatorWriter(op, shape, stages, schedule, buffers, stream).write();
}

} // namespace headrace::vta
