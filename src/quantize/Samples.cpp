#include "quantize/Samples.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <algorithm>

namespace headrace::quantize {

/// Limits of one run if the batch is a dynamic dimension: larger runs of large models exhaust
/// memory.
static constexpr int64_t kMaxSamples = 64;
static constexpr int64_t kMaxBytes = int64_t{4} << 20;

static std::string specText(const TensorSpec &spec, const std::vector<std::string> &symbols) {
  std::string text(nameOf(spec.dtype));
  for (size_t i = 0; i < spec.dims.size(); ++i)
    text += (i == 0 ? " " : "x") + spec.dims[i].str(symbols);
  return text;
}

[[noreturn]] static void fail(ErrorKind kind, const TensorSpec &spec, const std::string &what) {
  throw Error(kind, "calibration data of input " + inQuotes(spec.name) + ": " + what);
}

/// Whether the last sizes of an array can be those of the input from dimension `from` on.
static bool fits(const Shape &shape, size_t skip, const TensorSpec &spec, size_t from) {
  for (size_t i = from; i < spec.dims.size(); ++i)
    if (auto size = spec.dims[i].asConstant(); size && *size != shape[skip + i])
      return false;
  return true;
}

std::vector<std::string> inputNames(const onnx::Graph &graph) {
  std::vector<std::string> names;
  for (const onnx::ValueInfo &input : graph.inputs)
    if (std::ranges::none_of(graph.initializers, [&](const onnx::Initializer &initializer) {
          return initializer.name == input.name;
        }))
      names.push_back(input.name);
  return names;
}

Calibration calibrationOf(const onnx::Graph &graph, const GivenSamples &given) {
  std::vector<std::string> names = inputNames(graph);
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + inQuotes(name);
  Calibration result;
  size_t next = 0;
  for (const auto &[name, tensor] : given) {
    if (!name.empty() && !std::ranges::count(names, name))
      throw Error(ErrorKind::InvalidArgument, "calibration data: the model has no input " +
                                                  inQuotes(name) + "; it has " + list);
    if (name.empty() && next == names.size())
      throw Error(ErrorKind::InvalidArgument,
                  "calibration data: the model has only " + std::to_string(names.size()) +
                      (names.size() == 1 ? " input, " : " inputs, ") + list);
    const std::string &input = name.empty() ? names[next++] : name;
    if (!result.emplace(input, tensor).second)
      throw Error(ErrorKind::InvalidArgument,
                  "calibration data: input " + inQuotes(input) + " is given twice");
  }
  return result;
}

/// The number of samples per run: the same in all runs if that takes at most twice as many runs,
/// since a model is compiled for each number; else `most`.
static int64_t evenly(int64_t count, int64_t most) {
  for (int64_t size = most; size > most / 2; --size)
    if (count % size == 0)
      return size;
  return most;
}

Samples::Samples(const Model &model, const Calibration &calibration) {
  int64_t atOnce = kMaxSamples;
  bool isFixed = false;
  for (const TensorSpec &spec : model.inputs()) {
    auto found = calibration.find(spec.name);
    if (found == calibration.end())
      throw Error(ErrorKind::MissingInput, "calibration data of input " + inQuotes(spec.name) +
                                               " is missing: expected " +
                                               specText(spec, model.symbols()) +
                                               ", with samples stacked along the first dimension");
    addArray(spec, found->second, model.symbols());
    const Array &array = arrays.back();
    if (!array.isCut)
      continue;
    if (auto size = spec.dims[0].asConstant()) {
      if (isFixed && atOnce != *size)
        fail(ErrorKind::ShapeMismatch, spec,
             "expected runs of " + std::to_string(atOnce) + " samples as for other inputs, got " +
                 std::to_string(*size) + "; give one more dimension, whose elements are runs");
      atOnce = *size;
      isFixed = true;
    } else if (!isFixed) {
      int64_t bytes = static_cast<int64_t>(array.tensor.bytes()) / array.tensor.shape()[0];
      atOnce = std::clamp<int64_t>(kMaxBytes / std::max<int64_t>(bytes, 1), 1, atOnce);
    }
  }
  if (arrays.empty())
    throw Error(ErrorKind::Unsupported, "expected a model with inputs to calibrate, got none");
  bool isCut = arrays[0].isCut;
  int64_t count = arrays[0].tensor.shape()[0];
  for (size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].isCut != isCut || arrays[i].tensor.shape()[0] != count)
      fail(ErrorKind::ShapeMismatch, model.inputs()[i],
           "expected " + std::to_string(count) + (isCut ? " samples" : " runs") + " as for input " +
               inQuotes(model.inputs()[0].name) + ", got " + shapeString(arrays[i].tensor.shape()));
  if (!isCut)
    atOnce = 1;
  else if (!isFixed)
    atOnce = evenly(count, std::min(atOnce, count));
  if (isCut && isFixed && count % atOnce != 0)
    fail(ErrorKind::ShapeMismatch, model.inputs()[0],
         "expected a multiple of " + std::to_string(atOnce) +
             " samples, as many as the model takes at once, got " + std::to_string(count));
  samples = count;
  for (int64_t start = 0; start < count; start += atOnce)
    starts.emplace_back(start, std::min(atOnce, count - start));
}

void Samples::addArray(const TensorSpec &spec, Tensor tensor,
                       const std::vector<std::string> &symbols) {
  if (tensor.dtype() != spec.dtype)
    fail(ErrorKind::TypeMismatch, spec,
         "expected " + std::string(nameOf(spec.dtype)) + ", got " +
             std::string(nameOf(tensor.dtype())));
  const Shape &shape = tensor.shape();
  size_t rank = spec.dims.size();
  bool isCut = rank > 0 && shape.size() == rank && fits(shape, 0, spec, 1);
  bool isList = shape.size() == rank + 1 && fits(shape, 1, spec, 0);
  if (!isCut && !isList)
    fail(ErrorKind::ShapeMismatch, spec,
         "expected " + specText(spec, symbols) +
             ", with samples stacked along the first dimension, got " + shapeString(shape));
  if (tensor.elements() == 0)
    fail(ErrorKind::InvalidArgument, spec,
         "expected samples, got none (" + shapeString(shape) + ")");
  arrays.push_back({tensor, Shape(shape.begin() + (isCut ? 0 : 1), shape.end()), isCut});
}

std::vector<Tensor> Samples::run(size_t index) const {
  auto [start, length] = starts[index];
  std::vector<Tensor> inputs;
  for (const Array &array : arrays) {
    size_t bytes = array.tensor.bytes() / static_cast<size_t>(array.tensor.shape()[0]);
    const auto *data = static_cast<const std::byte *>(array.tensor.data());
    Shape shape = array.shape;
    if (array.isCut)
      shape[0] = length;
    auto keep = std::make_shared<Tensor>(array.tensor);
    inputs.push_back(Tensor::borrow(array.tensor.dtype(), shape,
                                    data + bytes * static_cast<size_t>(start), keep));
  }
  return inputs;
}

} // namespace headrace::quantize
