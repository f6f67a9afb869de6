#include "explore/SizedProgram.h"

#include "runtime/system/Json.h"
#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <map>
#include <numeric>

namespace headrace::explore {

namespace {

using Kind = SizedOperator::Kind;
using Shape = std::vector<int64_t>;

constexpr int64_t maxExtent = int64_t{1} << 20;

int64_t volumeOf(const Shape &shape) {
  int64_t volume = 1;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(volume, extent, &volume) || volume > TaskGraph::maxVolume)
      throw JsonFault("expected at most " + std::to_string(TaskGraph::maxVolume) + " elements");
  return volume;
}

Shape shapeIn(const Json &json, const char *name) {
  Shape shape;
  for (const Json &extent : list(json, name))
    shape.push_back(integerOf(extent, 1, maxExtent));
  if (shape.empty() || shape.size() > 8)
    throw JsonFault(std::string(name) + ": expected 1 to 8 numbers, got " +
                    std::to_string(shape.size()));
  return shape;
}

std::string text(const Shape &shape) {
  std::string words;
  for (int64_t extent : shape)
    words += (words.empty() ? "" : "x") + std::to_string(extent);
  return words;
}

void expectImage(const Shape &input) {
  if (input.size() != 3)
    throw JsonFault("expected an image (channels, height, width), got " + text(input));
}

Kind kindOf(const std::string &word) {
  static const std::map<std::string, Kind> kinds = {{"convolution", Kind::Convolution},
                                                    {"linear", Kind::Linear},
                                                    {"element-wise", Kind::Elementwise},
                                                    {"max-pool", Kind::MaxPool},
                                                    {"view", Kind::View},
                                                    {"softmax", Kind::Softmax}};
  auto found = kinds.find(word);
  if (found == kinds.end())
    throw JsonFault("expected the operator convolution, linear, element-wise, max-pool, view or "
                    "softmax, got " +
                    inQuotes(word));
  return found->second;
}

Shape outputOf(const SizedOperator &sized, const Json &json) {
  const Shape &input = sized.input;
  switch (sized.kind) {
  case Kind::Convolution:
    expectImage(input);
    if (sized.filters.size() != 3)
      throw JsonFault("filters: expected their number, height and width");
    if (sized.filters[1] > input[1] || sized.filters[2] > input[2])
      throw JsonFault("expected filters of at most " + std::to_string(input[1]) + "x" +
                      std::to_string(input[2]) + ", got " + std::to_string(sized.filters[1]) + "x" +
                      std::to_string(sized.filters[2]));
    return {sized.filters[0], input[1] - sized.filters[1] + 1, input[2] - sized.filters[2] + 1};
  case Kind::Linear:
    if (input.size() != 1)
      throw JsonFault("expected a vector (a view makes one), got " + text(input));
    return {integer(json, "outputs", 1, maxExtent)};
  case Kind::MaxPool: {
    expectImage(input);
    Shape window = shapeIn(json, "window");
    if (window.size() != 2 || window[0] > input[1] || window[1] > input[2])
      throw JsonFault("window: expected a height and a width within " + text(input) + ", got " +
                      text(window));
    return {input[0], input[1] / window[0], input[2] / window[1]};
  }
  case Kind::View: {
    Shape shape = shapeIn(json, "shape");
    if (volumeOf(shape) != volumeOf(input))
      throw JsonFault("shape: expected " + std::to_string(volumeOf(input)) + " elements, got " +
                      text(shape));
    return shape;
  }
  case Kind::Elementwise:
  case Kind::Softmax:
    break;
  }
  return input;
}

SizedOperator operatorOf(const Json &json, const Shape &input) {
  SizedOperator sized;
  sized.name = headrace::text(json, "name");
  try {
    sized.kind = kindOf(headrace::text(json, "op"));
    sized.input = input;
    if (sized.kind == Kind::Convolution)
      sized.filters = shapeIn(json, "filters");
    sized.output = outputOf(sized, json);
    volumeOf(sized.output);
    if (json.contains("place"))
      sized.place = headrace::text(json, "place");
  } catch (const JsonFault &fault) {
    throw JsonFault("operator " + inQuotes(sized.name) + ": " + fault.what());
  }
  return sized;
}

ConvolutionSizes sizesOf(const SizedOperator &sized) {
  return {sized.input[0],   sized.input[1],   sized.input[2],
          sized.filters[0], sized.filters[1], sized.filters[2]};
}

Stream write(GraphWriter &writer, const SizedOperator &sized, const Stream &input, Form form,
             Convention convention) {
  writer.beginOperator(sized.name, sized.place);
  switch (sized.kind) {
  case Kind::Convolution:
    return writeConvolution(writer, input, sizesOf(sized), form, convention);
  case Kind::Linear:
    return writeContraction(writer, input, {sized.output[0], 1, sized.input[0]}, form, convention);
  case Kind::Elementwise:
    return writeElementwise(writer, input);
  case Kind::MaxPool:
    return writePool(writer, input, volumeOf(sized.output));
  case Kind::Softmax:
    return writeSoftmax(writer, input, volumeOf(sized.input) / sized.input.back());
  case Kind::View:
    break;
  }
  return input;
}

} // namespace

bool isSizedProgram(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("operators");
}

SizedProgram parseSizedProgram(std::string_view text, const std::string &source) {
  try {
    Json json = parseJson(text, "the text");
    SizedProgram program;
    program.name = json.contains("name") ? headrace::text(json, "name") : "program";
    program.input = shapeIn(json, "input");
    volumeOf(program.input);
    Shape shape = program.input;
    for (const Json &entry : list(json, "operators")) {
      program.operators.push_back(operatorOf(entry, shape));
      shape = program.operators.back().output;
    }
    if (program.operators.empty())
      throw JsonFault("operators: expected at least one");
    return program;
  } catch (const JsonFault &fault) {
    throw Error(ErrorKind::InvalidFile, escaped(source) + ": " + fault.what());
  }
}

std::vector<Form> formsOf(const SizedOperator &sized) {
  if (sized.kind == Kind::Convolution)
    return {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector, Form::Direct};
  if (sized.kind == Kind::Linear)
    return {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector};
  return {};
}

TaskGraph taskGraphOf(const SizedProgram &program, const std::vector<Form> &forms,
                      Convention convention, size_t begin, size_t end) {
  GraphWriter writer(program.name, volumeOf(program.operators[begin].input));
  Stream stream = writer.input();
  for (size_t i = begin; i < end; ++i)
    stream = write(writer, program.operators[i], stream, forms[i], convention);
  // Source and sink need a task between them; views are none.
  if (writer.isInput(stream)) {
    writer.beginOperator(program.operators[begin].name, program.operators[begin].place);
    stream = writeElementwise(writer, stream);
  }
  return writer.finish(stream);
}

} // namespace headrace::explore
