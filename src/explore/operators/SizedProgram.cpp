#include "explore/operators/SizedProgram.h"

#include "explore/graph/TaskGraph.h"
#include "runtime/system/Error.h"
#include "runtime/system/Json.h"
#include "runtime/system/Text.h"

#include <map>

namespace headrace::explore {

namespace {

using Shape = std::vector<int64_t>;
enum class Word { Convolution, Linear, Elementwise, MaxPool, View, Softmax };

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
    throw JsonFault(std::string(name) + ": expected 1 to 8 values, got " +
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

Word wordOf(const std::string &word) {
  static const std::map<std::string, Word> words = {{"convolution", Word::Convolution},
                                                    {"linear", Word::Linear},
                                                    {"element-wise", Word::Elementwise},
                                                    {"max-pool", Word::MaxPool},
                                                    {"view", Word::View},
                                                    {"softmax", Word::Softmax}};
  auto found = words.find(word);
  if (found == words.end())
    throw JsonFault("expected the operator convolution, linear, element-wise, max-pool, view or "
                    "softmax, got " +
                    inQuotes(word));
  return found->second;
}

// Adds operators to the end of a chain.
class Chain {
public:
  explicit Chain(OperatorGraph &graph, Shape input) : graph(graph), shape(std::move(input)) {
    graph.operators.push_back({"input", Operator::Kind::Input, volumeOf(shape)});
  }

  void add(const Json &json) {
    name = headrace::text(json, "name");
    try {
      place = json.contains("place") ? headrace::text(json, "place") : "";
      add(json, wordOf(headrace::text(json, "op")));
    } catch (const JsonFault &fault) {
      throw JsonFault("operator " + inQuotes(name) + ": " + fault.what());
    }
  }

private:
  using Kind = Operator::Kind;

  void add(const Json &json, Word word) {
    switch (word) {
    case Word::Convolution:
      return convolution(shapeIn(json, "filters"));
    case Word::Linear: {
      if (shape.size() != 1)
        throw JsonFault("expected a vector (a view makes one), got " + text(shape));
      ContractionSizes sizes{integer(json, "outputs", 1, maxExtent), 1, shape[0]};
      shape = {sizes.m};
      append(Kind::Contraction, volumeOf({sizes.m, sizes.k})).contraction = sizes;
      return;
    }
    case Word::MaxPool: {
      expectImage(shape);
      Shape window = shapeIn(json, "window");
      if (window.size() != 2 || window[0] > shape[1] || window[1] > shape[2])
        throw JsonFault("window: expected a height and a width within " + text(shape) + ", got " +
                        text(window));
      shape = {shape[0], shape[1] / window[0], shape[2] / window[1]};
      append(Kind::Reduction, volumeOf(shape) * window[0] * window[1]);
      return;
    }
    case Word::View: {
      Shape viewed = shapeIn(json, "shape");
      if (volumeOf(viewed) != volumeOf(shape))
        throw JsonFault("shape: expected " + std::to_string(volumeOf(shape)) + " elements, got " +
                        text(viewed));
      shape = viewed;
      append(Kind::View, 0);
      return;
    }
    case Word::Elementwise:
      append(Kind::Map, volumeOf(shape));
      return;
    case Word::Softmax:
      return softmax();
    }
  }

  void convolution(const Shape &filters) {
    expectImage(shape);
    if (filters.size() != 3)
      throw JsonFault("filters: expected their number, height and width");
    if (filters[1] > shape[1] || filters[2] > shape[2])
      throw JsonFault("expected filters of at most " + std::to_string(shape[1]) + "x" +
                      std::to_string(shape[2]) + ", got " + std::to_string(filters[1]) + "x" +
                      std::to_string(filters[2]));
    int64_t channels = shape[0];
    shape = {filters[0], shape[1] - filters[1] + 1, shape[2] - filters[2] + 1};
    ContractionSizes sizes{filters[0], shape[1] * shape[2], channels * filters[1] * filters[2]};
    append(Kind::Convolution, volumeOf({volumeOf(shape), sizes.k})).contraction = sizes;
  }

  // The maximum of each row, powers, their sum, and the quotient.
  void softmax() {
    Shape rows(shape.begin(), shape.end() - 1), whole = shape;
    int64_t volume = volumeOf(whole);
    int input = last();
    auto reduce = [&] {
      shape = rows;
      append(Kind::Reduction, volume);
      shape = whole;
    };
    reduce();
    append(Kind::Map, volume).operands.push_back({input});
    int powers = last();
    reduce();
    append(Kind::Map, volume).operands.push_back({powers});
  }

  int last() const { return static_cast<int>(graph.operators.size()) - 1; }

  Operator &append(Kind kind, int64_t points) {
    graph.operators.push_back({name, kind, volumeOf(shape), points, {{last()}}});
    graph.operators.back().names = {name};
    graph.operators.back().place = place;
    return graph.operators.back();
  }

  OperatorGraph &graph;
  Shape shape;
  std::string name, place;
};

} // namespace

bool isSizedProgram(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("operators");
}

OperatorGraph parseSizedProgram(std::string_view text, const std::string &source) {
  try {
    Json json = parseJson(text, "the text");
    OperatorGraph program;
    program.name = json.contains("name") ? headrace::text(json, "name") : "program";
    Chain chain(program, shapeIn(json, "input"));
    for (const Json &entry : list(json, "operators"))
      chain.add(entry);
    if (program.operators.size() == 1)
      throw JsonFault("operators: expected at least one");
    program.results = {static_cast<int>(program.operators.size()) - 1};
    return program;
  } catch (const JsonFault &fault) {
    throw Error(ErrorKind::InvalidFile, escaped(source) + ": " + fault.what());
  }
}

} // namespace headrace::explore
