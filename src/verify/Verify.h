// A compiled program compared with the reference evaluation: its outputs, and the values that its
// steps store.
#pragma once

#include "driver/Model.h"
#include "runtime/value/RuntimeValue.h"

#include "verify/Report.h"
#include <filesystem>
#include <functional>
#include <optional>

namespace headrace::verify {

/// What another system computes.
struct PeerAnswer {
  std::string version; // of the system
  std::vector<Tensor> outputs;
};

/// Another system that computes the model's outputs; `run` throws Error if it cannot.
struct Peer {
  std::string name;
  std::function<PeerAnswer(const std::vector<Tensor> &inputs)> run;
};

/// The options of `headrace verify`.
struct Options {
  /// One per input; empty: several cases are made.
  std::vector<RuntimeValue> inputs;
  uint64_t seed = 0;
  /// Values of dynamic dimensions, by their number; the others take several.
  std::vector<std::optional<int64_t>> sizes;
  /// Whether a case has NaN and infinities.
  bool hasSpecialValues = false;
  /// Whether values inside of the program are compared.
  bool comparesSteps = true;
  std::vector<Peer> peers;
  /// The ONNX file of the model, if the first pass that changes a wrong result is to be found.
  std::filesystem::path bisected;
  /// With which the model was loaded.
  Settings settings;
  /// Is told what is being done; may be empty.
  std::function<void(const std::string &)> progress;
};

/// Inputs of a case.
struct Case {
  std::string values;
  std::vector<std::pair<std::string, int64_t>> sizes;
  std::vector<RuntimeValue> inputs;
};

/// Inputs of all sizes of dynamic dimensions and of all kinds of values. Throws Error if an input
/// is not a tensor of numbers: it has to be given.
std::vector<Case> makeCases(const Model &model, const Options &options);

/// Compares what `model` computes with the reference; with a package, what its code computes with
/// the reference of the model.
Report verifyModel(Model &model, Model *package, const Options &options);

/// Whether the outputs on these inputs are within the policy. Throws Error as the model does.
bool agrees(Model &model, const std::vector<RuntimeValue> &inputs);

} // namespace headrace::verify
