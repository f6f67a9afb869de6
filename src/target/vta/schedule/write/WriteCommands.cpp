#include "target/vta/schedule/write/WriteCommands.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"
#include "target/vta/schedule/write/OperatorWriter.h"

#include <algorithm>

namespace headrace::vta {

namespace {

void checkBuffer(const Operator &op, const CommandStream &stream, size_t number, const Image &image,
                 DType type) {
  const Buffer &buffer = stream.buffer(number);
  Shape expected = {image.batch, image.channels, image.height, image.width};
  if (buffer.dtype == type && buffer.shape == expected &&
      buffer.layout == layoutOf(image, stream.configuration()))
    return;
  throw Error(ErrorKind::ShapeMismatch,
              "operator " + inQuotes(op.name) + ", buffer " + inQuotes(buffer.name) +
                  ": expected " + std::string(nameOf(type)) + " " + shapeString(expected) +
                  " in blocks, got " + std::string(nameOf(buffer.dtype)) + " " +
                  shapeString(buffer.shape));
}

void checkBuffers(const Operator &op, const CommandStream &stream, std::span<const size_t> inputs,
                  size_t result) {
  auto inputAt = [&](size_t i) {
    if (i >= inputs.size())
      throw Error(ErrorKind::InvalidArgument, "operator " + inQuotes(op.name) + " reads input " +
                                                  std::to_string(i) + ", got " +
                                                  std::to_string(inputs.size()) + " inputs");
    return inputs[i];
  };
  if (std::ranges::find(inputs, result) != inputs.end())
    throw Error(ErrorKind::InvalidArgument, "operator " + inQuotes(op.name) +
                                                " would write over its input " +
                                                inQuotes(stream.buffer(result).name));
  const auto *cells = std::get_if<Cells>(&op.core);
  checkBuffer(op, stream, inputAt(0), op.input, cells ? cells->input : DType::I8);
  checkBuffer(op, stream, result, op.result(), DType::I8);
  for (const AluStage &stage : op.stages)
    if (const auto *image = std::get_if<FromImage>(&stage.operand))
      checkBuffer(op, stream, inputAt(image->input), op.result(), image->type);
}

} // namespace

void write(const Operator &op, const Schedule &schedule, CommandStream &stream,
           std::span<const size_t> inputs, size_t result) {
  if (std::string reason = unsupportedReason(op, schedule, stream.configuration()); !reason.empty())
    throw Error(ErrorKind::InvalidArgument, "operator " + inQuotes(op.name) + ": " + reason);
  checkBuffers(op, stream, inputs, result);
  OperatorShape shape(op, stream.configuration());
  AluProgram stages = lowerStages(op);
  OperatorBuffers buffers{{inputs.begin(), inputs.end()}, result};
  allocateConstants(op, shape, stages, true, stream, buffers);
  writeOperator(op, shape, stages, schedule, buffers, stream);
}

} // namespace headrace::vta
