// The commands that bring operands of a convolution to the chip and multiply them.
#pragma once

#include "target/vta/schedule/write/Resident.h"
#include "target/vta/schedule/write/TileWriter.h"

namespace headrace::vta {

class ProductWriter {
public:
  ProductWriter(CommandStream &stream, const OperatorShape &shape, const Schedule &schedule,
                const ChipPlan &plan, const OperatorBuffers &buffers)
      : stream(stream), shape(shape), schedule(schedule), buffers(buffers), inputs(plan.inputs),
        weights(plan.weights) {}

  /// Plans that the tile's accumulators get the sums over these blocks of input channels; loads
  /// what is not on the chip.
  void addStep(Pipeline &pipeline, const Tile &tile, int64_t accumulators, const Part &in);

private:
  void loadInputs(const Tile &tile, const Part &in, int64_t address);
  void loadWeights(const Tile &tile, const Part &in, int64_t address);
  void multiply(const Tile &tile, const Part &in, int64_t acc, int64_t inp, int64_t wgt);

  CommandStream &stream;
  const OperatorShape &shape;
  const Schedule &schedule;
  const OperatorBuffers &buffers;
  Resident inputs, weights;
  Pipeline::Action lastLoad = Pipeline::none, lastProduct = Pipeline::none;
};

} // namespace headrace::vta
