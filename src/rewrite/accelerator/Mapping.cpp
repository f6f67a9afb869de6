#include "rewrite/accelerator/Mapping.h"

#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/accelerator/Memories.h"
#include "rewrite/derivation/Replay.h"

#include <algorithm>

namespace headrace::rewrite {

namespace {

/// Far more than any machine takes: what can be mapped is.
constexpr double leftOverCost = 1e9;
/// The cost of movement that changes addresses without copying: it makes the shorter of two equal
/// terms win.
constexpr double viewCost = 1e-3;
/// Which of two ways of addressing is shorter need not be known.
constexpr double tolerance = 256 * viewCost;

bool computes(std::string_view name) {
  auto all = computationOperators();
  return std::ranges::find(all, name, &TensorOperator::name) != all.end();
}

std::vector<int64_t> sizesOf(const Operator &op) {
  std::vector<int64_t> sizes;
  for (Attribute attribute : op.attributes)
    sizes.push_back(attribute.value);
  return sizes;
}

int64_t operationCount(std::string_view name, const Shape &result) {
  int64_t count = 1;
  for (size_t i = 0; i + *resultRank(name) < result.size(); ++i)
    count *= result[i];
  return count;
}

class MachineCost : public CostModel {
public:
  MachineCost(const MachineFacts &facts, const Accelerator &machine)
      : facts(facts), machine(machine) {}

  double costOf(const EGraph &graph, NodeId node) const override {
    const Operator &op = graph.opOf(node);
    std::string_view name = graph.vocabulary().text(op.name);
    ClassId id = graph.classOf(node);
    if (resultRank(name)) {
      const MachineOperator *known = machine.find(name, sizesOf(op));
      return known ? known->cost * static_cast<double>(operationCount(name, facts.shapeOf(id)))
                   : leftOverCost;
    }
    auto bytes = static_cast<double>(facts.bytesOf(id));
    if (name == "toChip")
      return bytes * machine.loadCost;
    if (name == "toDram")
      return bytes * machine.storeCost;
    if (name == "toOutput")
      return bytes *
             (machine.outputCost +
              (facts.memoryOf(graph.operandsOf(node)[0]) == Memory::Dram ? machine.loadCost : 0));
    return computes(name) ? leftOverCost + bytes : viewCost;
  }

private:
  const MachineFacts &facts;
  const Accelerator &machine;
};

int64_t usefulProductsOf(const Terms &terms, TermId root, const TermShapes &shapes) {
  int64_t sum = 0;
  for (TermId id : terms.reachableFrom(root)) {
    std::string_view name = terms.vocabulary().text(terms.opOf(id).name);
    const std::vector<TermId> &operands = terms[id].operands;
    int64_t results = elementCount(shapes.shapeOf(id));
    if (name == "mv" || name == "dense" || name == "contract")
      sum += results * sizeOf(shapes.shapeOf(operands[0]), 1);
    if (name == "conv") {
      const Shape &w = shapes.shapeOf(operands[1]);
      sum += results * sizeOf(w, 1) * sizeOf(w, 2) * sizeOf(w, 3);
    }
  }
  return sum;
}

void countOperations(Mapping &mapping, const Terms &terms, const Accelerator &machine) {
  TermShapes shapes(terms, allOperators());
  for (TermId id : terms.reachableFrom(mapping.term)) {
    const Operator &op = terms.opOf(id);
    std::string_view name = terms.vocabulary().text(op.name);
    const Shape &shape = shapes.shapeOf(id);
    int64_t bytes = elementCount(shape) * machine.element.bytes();
    if (resultRank(name)) {
      int64_t count = operationCount(name, shape);
      mapping.operations[terms.vocabulary().print(terms[id].op)] += count;
      mapping.doneProducts += count * productsOf(name, sizesOf(op));
    }
    if (name == "toChip")
      mapping.loadedBytes += bytes;
    if (name == "toDram")
      mapping.storedBytes += bytes;
    if (name == "toOutput")
      mapping.outputBytes += bytes;
    if (!computes(name))
      continue;
    mapping.leftOver.push_back(terms.vocabulary().print(terms[id].op) + " of " + textOf(shape));
    // What the machine does not compute has no cost there: the search only shuns it.
    double shunned = leftOverCost + static_cast<double>(bytes);
    mapping.cost -= shunned;
    mapping.minCost = std::max(0.0, mapping.minCost - shunned);
  }
}

// Every sum rounded as the machine's accumulator does it. Both products are sums over the last axis
// of rows of the first operand with rows of the second.
Array roundedProducts(const Array &a, const Array &b, const Shape &result, int64_t others,
                      int64_t rows, const NumberFormat &accumulate) {
  auto k = static_cast<size_t>(a.shape.back());
  Array array(result);
  for (size_t at = 0; at < array.values.size(); ++at) {
    size_t row = at / static_cast<size_t>(others), batch = row / static_cast<size_t>(rows);
    const double *x = a.values.data() + row * k;
    const double *y = b.values.data() +
                      (batch * static_cast<size_t>(others) + at % static_cast<size_t>(others)) * k;
    for (size_t i = 0; i < k; ++i)
      array.values[at] = accumulate.round(array.values[at] + x[i] * y[i]);
  }
  return array;
}

} // namespace

Mapping mapToMachine(Terms &terms, TermId term, const Accelerator &machine, const RuleSet &rules,
                     const MappingOptions &options) {
  Vocabulary &vocabulary = terms.vocabulary();
  Mapping mapping;
  mapping.usefulProducts = usefulProductsOf(terms, term, TermShapes(terms, allOperators()));
  ShapeAnalysis shapes(allOperators());
  MemoryAnalysis memories;
  EGraph graph(vocabulary);
  graph.attach(shapes);
  graph.attach(memories);
  Proof proof(terms);
  if (options.derives)
    graph.attach(proof);
  MachineFacts facts(graph, shapes, memories, machine);
  mapping.start = terms.add(vocabulary.op("toOutput"), {term});
  ClassId root = graph.add(terms, mapping.start);
  std::vector<RuleInstance> instances = machine.instancesOf(rules, vocabulary);
  mapping.saturation =
      saturate(graph, instances, facts, options.limits, options.derives ? &proof : nullptr);
  mapping.classes = graph.classCount();
  mapping.nodes = graph.nodeCount();
  ExtractionLimits limits = options.extraction;
  limits.tolerance = tolerance;
  Extraction best = extract(graph, root, MachineCost(facts, machine), terms, limits);
  mapping.term = best.term;
  mapping.cost = best.cost;
  mapping.minCost = best.least;
  mapping.method = best.method;
  countOperations(mapping, terms, machine);
  if (options.derives) {
    proof.chosen(graph, root, best.term, best.chosen);
    mapping.derivation = derive(proof, mapping.start, mapping.term, instances);
  }
  return mapping;
}

void replay(Terms &terms, Mapping &mapping, const Accelerator &machine, uint64_t seed) {
  mapping.replayError = replay(terms, mapping.start, mapping.term, mapping.derivation,
                               MachineTermFacts(terms, allOperators(), machine), allOperators(),
                               randomInputs(terms, mapping.start, seed));
}

Array runOnMachine(const Terms &terms, TermId term, const Accelerator &machine,
                   const Inputs &inputs) {
  const Vocabulary &vocabulary = terms.vocabulary();
  auto onMachine = [&](const Operator &op, std::span<const Array *const> operands,
                       const Shape &result) -> std::optional<Array> {
    std::string_view name = vocabulary.text(op.name);
    if (!resultRank(name) && name != "toChip")
      return {};
    std::vector<int64_t> sizes = sizesOf(op);
    Array array;
    if (name == "MVMul")
      array = roundedProducts(*operands[0], *operands[1], result, 1, sizes[0], machine.accumulate);
    else if (name == "MMMul")
      array = roundedProducts(*operands[0], *operands[1], result, sizes[1], sizes[0],
                              machine.accumulate);
    else
      array = allOperators().find(name)->meaning(callOf(op, vocabulary), operands, result);
    for (double &value : array.values)
      value = machine.element.round(value);
    return array;
  };
  return evaluate(terms, term, allOperators(), inputs, onMachine);
}

} // namespace headrace::rewrite
