#include "runtime/program/ProgramRunner.h"

#include "runtime/program/BindInputs.h"
#include "runtime/system/Error.h"
#include "runtime/tensor/TensorFiles.h"

namespace headrace {

namespace {

std::string describe(MemorySpace place) {
  return place.onHost() ? "host memory" : "device " + std::to_string(place.device);
}

} // namespace

ProgramRunner::ProgramRunner(Program givenProgram)
    : program(std::move(givenProgram)), files(filesHolding(program.constants)) {
  verifyProgram(program);
}

void ProgramRunner::requireFilesUnchanged() const {
  for (const std::shared_ptr<const MappedFile> &file : files)
    file->requireUnchanged();
}

void ProgramRunner::enqueue(std::span<const Tensor>, std::span<Tensor>, void *,
                            const CallAllocator *) {
  throw Error(ErrorKind::InvalidArgument,
              "program '" + program.name +
                  "': expected a program for a device to run on a stream, got one for the host");
}

void ProgramRunner::bindSymbols(std::span<const Tensor> inputs,
                                std::vector<int64_t> &symbols) const {
  if (!bindInputs(program, inputs, symbols))
    throw Error(ErrorKind::ShapeMismatch, describeGuardFailure(program, symbols));
}

void ProgramRunner::checkPlaces(std::span<const Tensor> inputs,
                                std::span<const Tensor> outputs) const {
  auto check = [&](const char *what, const TensorSpec &spec, const Tensor &tensor) {
    if (!tensor || tensor.place().onHost() || tensor.place() == place())
      return;
    throw Error(ErrorKind::InvalidArgument, std::string(what) + " '" + spec.name +
                                                "': expected a tensor in " + describe(place()) +
                                                ", got one in " + describe(tensor.place()));
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    check("input", program.inputs[i], inputs[i]);
  for (size_t i = 0; i < std::min(outputs.size(), program.outputs.size()); ++i)
    check("output", program.outputs[i], outputs[i]);
}

void ProgramRunner::checkApart(std::span<const Tensor> inputs,
                               std::span<const Tensor> outputs) const {
  auto overlap = [](const Tensor &a, const Tensor &b) {
    auto first = reinterpret_cast<uintptr_t>(a.data()),
         second = reinterpret_cast<uintptr_t>(b.data());
    return a.place() == b.place() && a.bytes() > 0 && b.bytes() > 0 && first < second + b.bytes() &&
           second < first + a.bytes();
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i])
      continue;
    auto refuse = [&](const char *kind, const TensorSpec &other) {
      throw Error(ErrorKind::InvalidArgument, "output '" + program.outputs[i].name +
                                                  "': expected separate memory, got memory of " +
                                                  kind + " '" + other.name + "'");
    };
    for (size_t j = 0; j < inputs.size(); ++j)
      if (overlap(outputs[i], inputs[j]))
        refuse("input", program.inputs[j]);
    for (size_t j = 0; j < i; ++j)
      if (outputs[j] && overlap(outputs[i], outputs[j]))
        refuse("output", program.outputs[j]);
  }
}

void ProgramRunner::checkOutputs(std::span<const Shape> shapes,
                                 std::span<const Tensor> outputs) const {
  if (outputs.size() != program.outputs.size())
    throw Error(ErrorKind::InvalidArgument, "program '" + program.name + "': expected " +
                                                std::to_string(program.outputs.size()) +
                                                " outputs, got " + std::to_string(outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec &spec = program.outputs[i];
    const Tensor &output = outputs[i];
    if (output && (output.dtype() != spec.dtype || output.shape() != shapes[i]))
      throw Error(ErrorKind::ShapeMismatch,
                  "output '" + spec.name + "': expected memory for " +
                      std::string(nameOf(spec.dtype)) + " " + shapeString(shapes[i]) + ", got " +
                      std::string(nameOf(output.dtype())) + " " + shapeString(output.shape()));
  }
}

} // namespace headrace
