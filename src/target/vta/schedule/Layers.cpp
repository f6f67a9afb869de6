#include "target/vta/schedule/Layers.h"

#include <algorithm>

namespace headrace::vta {

std::vector<Layer> resNet18Layers() {
  return {{56, 64, 64, 3, 1},   {56, 64, 128, 3, 2},  {56, 64, 128, 1, 2},  {28, 128, 128, 3, 1},
          {28, 128, 256, 3, 2}, {28, 128, 256, 1, 2}, {14, 256, 256, 3, 1}, {14, 256, 512, 3, 2},
          {14, 256, 512, 1, 2}, {7, 512, 512, 3, 1}};
}

std::string nameOf(const Layer &layer) {
  return std::to_string(layer.image) + ", " + std::to_string(layer.in) + " -> " +
         std::to_string(layer.out) + ", " + std::to_string(layer.window) + "/" +
         std::to_string(layer.stride);
}

namespace {

std::vector<AluStage> stagesOf(LayerStages stages, int64_t channels) {
  using Op = AluStage::Op;
  if (stages == LayerStages::Clip)
    return {{Op::ShiftRight, Immediate{8}}, {Op::Min, Immediate{127}}, {Op::Max, Immediate{-128}}};
  PerChannel bias;
  for (int64_t c = 0; c < channels; ++c)
    bias.values.push_back(static_cast<int32_t>(c));
  return {{Op::Add, bias},
          {Op::RoundShiftRight, Immediate{8}},
          {Op::Max, Immediate{0}},
          {Op::Min, Immediate{127}}};
}

} // namespace

Operator operatorOf(const Layer &layer, int64_t batch, LayerStages stages) {
  Convolution core;
  core.weights = Tensor::allocate(DType::I8, {layer.out, layer.in, layer.window, layer.window});
  std::fill_n(core.weights.as<int8_t>(), core.weights.elements(), int8_t{127});
  core.strideY = core.strideX = layer.stride;
  core.padTop = core.padBottom = core.padLeft = core.padRight = layer.window / 2;
  return {nameOf(layer),
          {batch, layer.in, layer.image, layer.image},
          core,
          stagesOf(stages, layer.out)};
}

} // namespace headrace::vta
