// Graph to GraphProto.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"
#include "frontend/onnx/write/TensorWriter.h"

namespace headrace::onnx {

/// Where tensors of a model go: those of `least` bytes or more into `file`, if there is one.
struct TensorPlaces {
  DataFile *file = nullptr;
  uint64_t least = 0;

  DataFile *of(const Tensor &tensor) const { return tensor.bytes() >= least ? file : nullptr; }
};

/// The fields of a GraphProto, and of the graphs inside.
void writeGraph(protozero::pbf_writer message, const Graph &graph, const TensorPlaces &places);

} // namespace headrace::onnx
