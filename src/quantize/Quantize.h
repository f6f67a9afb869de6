// Post-training quantization: a float model and some data in, a model with QuantizeLinear and
// DequantizeLinear out, whose products ONNX Runtime, accelerators and we compute in int8.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

#include "quantize/Options.h"
#include "quantize/Samples.h"
#include <filesystem>
#include <limits>

namespace headrace::quantize {

/// The outcome for an operator, or for several that are one in integers.
struct OperatorReport {
  std::string name;               // of the first node, or of its output if it has no name
  std::vector<std::string> kinds; // "Conv", "Relu"
  enum class Form { Integers, KeepsScale, Float } form = Form::Float;
  std::string reason;              // why it is float
  std::vector<float> inputScales;  // of activations
  std::vector<float> weightScales; // one, or one for each channel
  float outputScale = 0;
  double least = 0, greatest = 0; // of the float model's output, in the samples
  /// 10 log10 of the output's power over that of its error; infinite if there is none.
  double signalToNoise = std::numeric_limits<double>::quiet_NaN();
};

/// How well an output of the model is kept.
struct OutputReport {
  std::string name;
  double signalToNoise = 0;
};

/// The report on a quantization.
struct Report {
  std::vector<OperatorReport> operators; // in the model's order
  std::vector<OutputReport> outputs;
  int64_t samples = 0;
  uint64_t weightBytesBefore = 0, weightBytesAfter = 0;
};

/// A quantized model and its report.
struct Result {
  onnx::Model model;
  Report report;
};

/// `name` stands for the model in messages, which begin with it. Throws Error.
Result quantize(onnx::Model model, const std::string &name, const GivenSamples &samples,
                const Options &options = {});

/// Reads, quantizes and writes files.
Report quantizeFile(const std::filesystem::path &path, const GivenSamples &samples,
                    const std::filesystem::path &output, const Options &options = {});

/// The report as JSON.
std::string reportJson(const Report &report);

} // namespace headrace::quantize
