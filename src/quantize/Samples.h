// Calibration data: for every input of a model an array of samples.
#pragma once

#include "driver/Model.h"
#include "frontend/onnx/read/OnnxModel.h"

#include <map>
#include <string>
#include <vector>

namespace headrace::quantize {

/// The arrays by the name of their input.
using Calibration = std::map<std::string, Tensor>;

/// Arrays with the names of their inputs, or without: then in the model's order.
using GivenSamples = std::vector<std::pair<std::string, Tensor>>;

/// The inputs of a model: those in its file that are not initializers.
std::vector<std::string> inputNames(const onnx::Graph &graph);

/// Throws Error if the model has no such input, or not as many.
Calibration calibrationOf(const onnx::Graph &graph, const GivenSamples &given);

/// Samples in runs that a model takes. An array has an input's rank and is cut along its first
/// dimension, by as many samples as the model takes at once; or it has one dimension more, and each
/// element of that is a run.
class Samples {
public:
  /// Throws Error if arrays are missing, empty or do not fit.
  Samples(const Model &model, const Calibration &calibration);

  size_t runs() const { return starts.size(); }
  /// The number of samples of all runs.
  int64_t count() const { return samples; }
  /// The inputs of a run, in the model's order.
  std::vector<Tensor> run(size_t index) const;

private:
  struct Array {
    Tensor tensor;
    Shape shape; // of one run, except for the first dimension if it is cut
    bool isCut;
  };
  void addArray(const TensorSpec &spec, Tensor tensor, const std::vector<std::string> &symbols);

  std::vector<Array> arrays;
  std::vector<std::pair<int64_t, int64_t>> starts; // and lengths
  int64_t samples = 0;
};

} // namespace headrace::quantize
