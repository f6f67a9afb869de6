// If, Loop, Scan, and SequenceMap: graphs run inside of graphs.
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/TensorParts.h"
#include "runtime/system/Text.h"

#include <algorithm>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

static Values runIf(HostCall &c) {
  return c.runBody(c.boolean(0) ? "then_branch" : "else_branch", {});
}

/// An iteration yields `least` values, which go on to the next one, or more.
static void checkCount(HostCall &c, const Values &results, size_t least) {
  if (results.size() < least)
    c.fail(ErrorKind::InvalidModel, "attribute 'body': expected a graph of " +
                                        std::to_string(least) + " outputs or more, got one of " +
                                        std::to_string(results.size()));
}

/// The results of all iterations as one tensor with one more axis; what the body declares tells the
/// type if there are none.
static RuntimeValue stacked(HostCall &c, const Values &parts, int64_t axis,
                            const BodyOutput &declared) {
  std::string what = "output " + inQuotes(declared.name) + " of its body: ";
  if (parts.empty()) {
    Shape shape = declared.shape;
    shape.insert(shape.begin() + c.axis(axis, static_cast<int64_t>(shape.size()) + 1), 0);
    if (declared.isString)
      return StringTensor{shape, {}};
    if (!declared.dtype)
      c.fail(ErrorKind::Unsupported, what + "expected a declared type, got none");
    return Tensor::allocate(*declared.dtype, shape);
  }
  Values grown;
  for (const RuntimeValue &part : parts) {
    const Shape *shape = shapeOf(part);
    if (!shape)
      c.fail(ErrorKind::TypeMismatch, what + "expected a tensor, got " + describe(part));
    grown.push_back(withAxis(part, c.axis(axis, static_cast<int64_t>(shape->size()) + 1)));
  }
  int64_t rank = static_cast<int64_t>(shapeOf(grown.front())->size());
  std::optional<RuntimeValue> joined = concatenate(grown, c.axis(axis, rank));
  if (!joined)
    c.fail(ErrorKind::ShapeMismatch, what + "expected one type and shape in all iterations, got " +
                                         describe(parts.front()) + " and others");
  return *joined;
}

static Values runLoop(HostCall &c) {
  std::optional<int64_t> trips;
  if (c.has(0))
    trips = c.integer(0);
  bool goesOn = !c.has(1) || c.boolean(1);
  Values state;
  for (size_t i = 2; i < c.inputs.size(); ++i)
    state.push_back(c.input(i));
  const std::vector<BodyOutput> &declared = c.bodyOutputs("body");
  size_t carried = state.size();
  if (declared.size() < carried + 1)
    c.fail(ErrorKind::InvalidModel,
           "attribute 'body': expected a graph of " + std::to_string(carried + 1) +
               " outputs or more, got one of " + std::to_string(declared.size()));
  std::vector<Values> scanned(declared.size() - carried - 1);
  for (int64_t i = 0; goesOn && (!trips || i < *trips); ++i) {
    c.countIteration();
    Values inputs{scalarOf(i), scalarOf(goesOn)};
    inputs.insert(inputs.end(), state.begin(), state.end());
    Values results = c.runBody("body", inputs);
    const Tensor *condition = results.front().tensor();
    if (!condition || condition->dtype() != DType::Bool || condition->elements() != 1)
      c.fail(ErrorKind::TypeMismatch, "output " + inQuotes(declared.front().name) +
                                          " of its body: expected one boolean, got " +
                                          describe(results.front()));
    goesOn = *condition->as<bool>();
    for (size_t k = 0; k < carried; ++k)
      state[k] = std::move(results[k + 1]);
    for (size_t k = 0; k < scanned.size(); ++k)
      scanned[k].push_back(std::move(results[carried + 1 + k]));
  }
  for (size_t k = 0; k < scanned.size(); ++k)
    state.push_back(stacked(c, scanned[k], 0, declared[carried + 1 + k]));
  return state;
}

namespace {

/// Scan over the inputs of one sequence.
class Scan {
public:
  Scan(HostCall &c, size_t states, bool hasAxes)
      : c(c), states(states), declared(c.bodyOutputs("body")) {
    inputAxes = c.node.getInts("scan_input_axes");
    inputDirections = c.node.getInts(hasAxes ? "scan_input_directions" : "directions");
    outputAxes = c.node.getInts("scan_output_axes");
    outputDirections = c.node.getInts("scan_output_directions");
    if (declared.size() < states)
      c.fail(ErrorKind::InvalidModel, "attribute 'body': expected a graph of " +
                                          std::to_string(states) + " outputs or more, got one of " +
                                          std::to_string(declared.size()));
  }

  Values run(Values state, const Values &inputs, std::optional<int64_t> givenLength) const {
    int64_t length = givenLength.value_or(-1);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const Shape *shape = shapeOf(inputs[k]);
      if (!shape)
        c.fail(ErrorKind::TypeMismatch, "expected tensors to scan, got " + describe(inputs[k]));
      int64_t size = (*shape)[axisOf(k, *shape)];
      if (length < 0)
        length = size;
      if (givenLength ? length > size : length != size)
        c.fail(ErrorKind::ShapeMismatch, "expected " + std::to_string(length) +
                                             " elements to scan, got " + std::to_string(size));
    }
    std::vector<Values> scanned(declared.size() - states);
    for (int64_t i = 0; i < length; ++i)
      step(i, length, state, inputs, scanned);
    for (size_t k = 0; k < scanned.size(); ++k) {
      if (at(outputDirections, k) != 0)
        std::reverse(scanned[k].begin(), scanned[k].end());
      state.push_back(stacked(c, scanned[k], at(outputAxes, k), declared[states + k]));
    }
    return state;
  }

private:
  static int64_t at(const std::vector<int64_t> &list, size_t i) {
    return i < list.size() ? list[i] : 0;
  }
  int64_t axisOf(size_t input, const Shape &shape) const {
    return c.axis(at(inputAxes, input), static_cast<int64_t>(shape.size()));
  }

  void step(int64_t i, int64_t length, Values &state, const Values &inputs,
            std::vector<Values> &scanned) const {
    c.countIteration();
    Values given = state;
    for (size_t k = 0; k < inputs.size(); ++k) {
      int64_t axis = axisOf(k, *shapeOf(inputs[k]));
      int64_t position = at(inputDirections, k) != 0 ? length - 1 - i : i;
      given.push_back(withoutAxis(slice(inputs[k], axis, position, 1), axis));
    }
    Values results = c.runBody("body", given);
    checkCount(c, results, states);
    for (size_t k = 0; k < states; ++k)
      state[k] = results[k];
    for (size_t k = 0; k < scanned.size(); ++k)
      scanned[k].push_back(results[states + k]);
  }

  HostCall &c;
  size_t states;
  const std::vector<BodyOutput> &declared;
  std::vector<int64_t> inputAxes, inputDirections, outputAxes, outputDirections;
};

} // namespace

static size_t scanInputCount(HostCall &c, size_t given) {
  int64_t count = c.node.getInt("num_scan_inputs", 0);
  if (count < 1 || count > static_cast<int64_t>(given))
    c.fail(ErrorKind::InvalidModel, "attribute 'num_scan_inputs': expected 1 to " +
                                        std::to_string(given) + ", got " + std::to_string(count));
  return static_cast<size_t>(count);
}

/// What a sequence gave, with zeros instead of what a longer one would have given.
static RuntimeValue lengthened(const RuntimeValue &value, int64_t length) {
  const Tensor *tensor = value.tensor();
  if (!tensor || tensor->shape().front() >= length)
    return value;
  Shape rest = tensor->shape();
  rest.front() = length - rest.front();
  Tensor zeros = Tensor::allocate(tensor->dtype(), rest);
  std::fill_n(static_cast<uint8_t *>(zeros.data()), zeros.bytes(), uint8_t{0});
  return *concatenate(Values{value, zeros}, 0);
}

/// In version 8 everything has a first axis of independent sequences, whose lengths may differ.
static Values runBatchedScan(HostCall &c) {
  size_t given = c.inputs.size() - 1, scanned = scanInputCount(c, given), states = given - scanned;
  Scan scan(c, states, /*hasAxes=*/false);
  Values all;
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    all.push_back(c.input(i));
    if (!shapeOf(all.back()) || shapeOf(all.back())->empty())
      c.fail(ErrorKind::ShapeMismatch,
             c.nameOfInput(i) + ": expected an axis of sequences, got " + describe(all.back()));
  }
  int64_t batch = (*shapeOf(all.front()))[0];
  std::optional<std::vector<int64_t>> lengths;
  if (c.has(0))
    lengths = c.integers(0);
  std::vector<Values> results;
  for (int64_t b = 0; b < batch; ++b) {
    Values part;
    for (const RuntimeValue &value : all) {
      if ((*shapeOf(value))[0] != batch)
        c.fail(ErrorKind::ShapeMismatch,
               "expected " + std::to_string(batch) + " sequences, got " + describe(value));
      part.push_back(withoutAxis(slice(value, 0, b, 1), 0));
    }
    std::optional<int64_t> length;
    if (lengths && static_cast<int64_t>(lengths->size()) == batch)
      length = (*lengths)[b];
    Values inputs(part.begin() + states, part.end());
    Values found = scan.run(Values(part.begin(), part.begin() + states), inputs, length);
    for (size_t k = states; k < found.size() && length; ++k)
      found[k] = lengthened(found[k], shapeOf(inputs.front())->front());
    results.push_back(std::move(found));
  }
  Values joined;
  const std::vector<BodyOutput> &declared = c.bodyOutputs("body");
  for (size_t k = 0; k < declared.size(); ++k) {
    Values parts;
    for (const Values &result : results)
      parts.push_back(result[k]);
    joined.push_back(stacked(c, parts, 0, declared[k]));
  }
  return joined;
}

static Values runScan(HostCall &c) {
  if (c.node.version < 9)
    return c.inputs.empty() ? Values() : runBatchedScan(c);
  size_t scanned = scanInputCount(c, c.inputs.size()), states = c.inputs.size() - scanned;
  Values state, inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    (i < states ? state : inputs).push_back(c.input(i));
  return Scan(c, states, /*hasAxes=*/true).run(std::move(state), inputs, std::nullopt);
}

/// Runs the body for each element; inputs that are not sequences are the same for all elements.
static Values runSequenceMap(HostCall &c) {
  size_t length = c.sequence(0).size();
  std::vector<Values> results(c.bodyOutputs("body").size());
  for (size_t i = 0; i < length; ++i) {
    c.countIteration();
    Values given;
    for (size_t k = 0; k < c.inputs.size(); ++k) {
      const Values *sequence = c.input(k).sequence();
      if (sequence && sequence->size() != length)
        c.fail(ErrorKind::ShapeMismatch, c.nameOfInput(k) + ": expected a sequence of " +
                                             std::to_string(length) + ", got one of " +
                                             std::to_string(sequence->size()));
      given.push_back(sequence ? (*sequence)[i] : c.input(k));
    }
    Values made = c.runBody("body", given);
    for (size_t k = 0; k < results.size(); ++k)
      results[k].push_back(std::move(made[k]));
  }
  return Values(results.begin(), results.end());
}

HostFamily controlFlowOperators() {
  static const HostOperator table[] = {{"", "If", 1, runIf},
                                       {"", "Loop", 1, runLoop},
                                       {"", "Scan", 8, runScan},
                                       {"", "SequenceMap", 17, runSequenceMap}};
  return table;
}

} // namespace headrace::operators
