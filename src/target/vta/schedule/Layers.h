// Layers by which an accelerator is measured: convolutions as networks have them.
#pragma once

#include "target/vta/schedule/Operator.h"

namespace headrace::vta {

/// A square image and window, padded so that the image keeps its size except for the stride.
struct Layer {
  int64_t image, in, out, window, stride;
};

/// The ten shapes of convolutions in ResNet-18 after its first.
std::vector<Layer> resNet18Layers();

/// "56, 64 -> 64, 3/1"
std::string nameOf(const Layer &layer);

/// Stages after the convolution.
enum class LayerStages {
  Clip,      ///< a shift by 8 and a clip to 8 bits
  Quantized, ///< a bias, a shift that rounds to even, and a relu with 8 bits: as QDQ networks have
};

/// Its weights are the largest there are, so that no stage can be left out.
Operator operatorOf(const Layer &layer, int64_t batch, LayerStages stages = LayerStages::Clip);

} // namespace headrace::vta
