// Where the values of an accelerator's terms lie.
#pragma once

#include "rewrite/accelerator/Accelerator.h"
#include "rewrite/tensor/TensorFacts.h"

namespace headrace::rewrite {

enum class Memory { Dram, Chip, Output };
std::string_view nameOf(Memory memory);

/// Operators of a machine work on the chip, everything else in DRAM; movement stays in its memory.
/// Nodes of one class are in one memory: else a rule is wrong.
class MemoryAnalysis : public LatticeAnalysis<Memory> {
public:
  Memory make(const EGraph &graph, NodeId node) const override;
  bool join(Memory &facts, const Memory &more) const override;
};

/// Facts of terms for an accelerator, as those of classes below.
class MachineTermFacts : public TermShapes {
public:
  MachineTermFacts(const Terms &terms, const OperatorSet &operators, const Accelerator &machine)
      : TermShapes(terms, operators), terms(terms), machine(machine) {}

  /// Throws Error at a term whose operands lie elsewhere than it needs them.
  Memory memoryOf(TermId term) const;

protected:
  bool isOnChip(TermId term) const override { return memoryOf(term) == Memory::Chip; }
  bool fitsChip(TermId term) const override {
    return elementCount(shapeOf(term)) * machine.element.bytes() <= machine.chipBytes;
  }
  bool computes(std::string_view function) const override { return machine.computes(function); }

private:
  const Terms &terms;
  const Accelerator &machine;
  mutable std::unordered_map<TermId, Memory> known;
};

/// Facts of classes for an accelerator: shapes, memories, and what fits on the chip.
class MachineFacts : public ClassShapes {
public:
  MachineFacts(const EGraph &graph, const ShapeAnalysis &shapes, const MemoryAnalysis &memories,
               const Accelerator &machine)
      : ClassShapes(graph, shapes), memories(memories), machine(machine) {}

  int64_t bytesOf(ClassId id) const { return elementCount(shapeOf(id)) * machine.element.bytes(); }
  Memory memoryOf(ClassId id) const { return memories.of(graph.find(id)); }
  using ClassShapes::shapeOf;

protected:
  bool isOnChip(ClassId id) const override { return memoryOf(id) == Memory::Chip; }
  bool fitsChip(ClassId id) const override { return bytesOf(id) <= machine.chipBytes; }
  bool computes(std::string_view function) const override { return machine.computes(function); }

private:
  const MemoryAnalysis &memories;
  const Accelerator &machine;
};

} // namespace headrace::rewrite
