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

Memory MemoryAnalysis::make(const EGraph &graph, NodeId node) const {
  std::string_view name = graph.vocabulary().text(graph.opOf(node).name);
  std::span<const ClassId> operands = graph.operandsOf(node);
  auto require = [&](Memory memory) {
    for (ClassId operand : operands)
      if (of(operand) != memory)
        throw Error(ErrorKind::InvalidArgument, graph.vocabulary().print(graph.opId(node)) +
                                                    ": expected an operand in " +
                                                    std::string(nameOf(memory)) + ", got one in " +
                                                    std::string(nameOf(of(operand))));
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
  return computes || operands.empty() ? require(Memory::Dram) : require(of(operands[0]));
}

bool MemoryAnalysis::join(Memory &facts, const Memory &more) const {
  if (facts != more)
    throw Error(ErrorKind::InvalidArgument, "a term in " + std::string(nameOf(facts)) +
                                                " is not one in " + std::string(nameOf(more)));
  return false;
}

} // namespace headrace::rewrite
