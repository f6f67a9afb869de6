#include "rewrite/accelerator/Memories.h"

#include "rewrite/accelerator/HardwareOperators.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::rewrite {

std::string_view nameOf(Memory memory) {
  switch (memory) {
  case Memory::Dram:
    return "DRAM";
  case Memory::Chip:
    return "the chip";
  case Memory::Output:
    return "the output";
  }
  return {};
}

namespace {

/// Where an operator's result lies, given where its operands do.
Memory memoryOfResult(OperatorId op, const Vocabulary &vocabulary,
                      std::span<const Memory> operands) {
  std::string_view name = vocabulary.text(vocabulary[op].name);
  auto require = [&](Memory memory) {
    for (Memory operand : operands)
      if (operand != memory)
        throw Error(ErrorKind::InvalidArgument, vocabulary.print(op) + ": expected an operand in " +
                                                    std::string(nameOf(memory)) + ", got one in " +
                                                    std::string(nameOf(operand)));
    return memory;
  };
  if (resultRank(name))
    return require(Memory::Chip);
  if (name == "toChip") {
    require(Memory::Dram);
    return Memory::Chip;
  }
  if (name == "toDram") {
    require(Memory::Chip);
    return Memory::Dram;
  }
  if (name == "toOutput")
    return Memory::Output; // from either
  bool computes = std::ranges::find(computationOperators(), name, &TensorOperator::name) !=
                  computationOperators().end();
  return computes || operands.empty() ? require(Memory::Dram) : require(operands[0]);
}

} // namespace

Memory MemoryAnalysis::make(const EGraph &graph, NodeId node) const {
  std::vector<Memory> operands;
  for (ClassId operand : graph.operandsOf(node))
    operands.push_back(of(operand));
  return memoryOfResult(graph.opId(node), graph.vocabulary(), operands);
}

Memory MachineTermFacts::memoryOf(TermId root) const {
  if (auto found = known.find(root); found != known.end())
    return found->second;
  for (TermId term : terms.reachableFrom(root)) {
    std::vector<Memory> operands;
    for (TermId operand : terms[term].operands)
      operands.push_back(known.at(operand));
    known[term] = memoryOfResult(terms[term].op, terms.vocabulary(), operands);
  }
  return known.at(root);
}

bool MemoryAnalysis::join(Memory &facts, const Memory &more) const {
  if (facts != more)
    throw Error(ErrorKind::InvalidArgument, "a term in " + std::string(nameOf(facts)) +
                                                " is not one in " + std::string(nameOf(more)));
  return false;
}

} // namespace headrace::rewrite
