// Names, and instructions as text.
#include "runtime/system/Error.h"
#include "runtime/vta/InstructionSet.h"

namespace headrace::vta {

std::string_view nameOf(Opcode opcode) {
  constexpr std::array<std::string_view, 5> names = {"LOAD", "STORE", "GEMM", "FINISH", "ALU"};
  return names[static_cast<size_t>(opcode)];
}

std::string_view nameOf(AluOp op) {
  constexpr std::array<std::string_view, 5> names = {"MIN", "MAX", "ADD", "SHR", "MUL"};
  return names[static_cast<size_t>(op)];
}

std::string_view nameOf(Module module) {
  constexpr std::array<std::string_view, moduleCount> names = {"load", "compute", "store"};
  return names[static_cast<size_t>(module)];
}

std::string_view nameOf(Queue queue) {
  constexpr std::array<std::string_view, queueCount> names = {"load->compute", "compute->load",
                                                              "compute->store", "store->compute"};
  return names[static_cast<size_t>(queue)];
}

Queue queueBetween(Module from, Module to) {
  if (from == Module::Load && to == Module::Compute)
    return Queue::LoadToCompute;
  if (from == Module::Compute && to == Module::Load)
    return Queue::ComputeToLoad;
  if (from == Module::Compute && to == Module::Store)
    return Queue::ComputeToStore;
  if (from == Module::Store && to == Module::Compute)
    return Queue::StoreToCompute;
  throw Error(ErrorKind::InvalidArgument, "there is no queue from " + std::string(nameOf(from)) +
                                              " to " + std::string(nameOf(to)));
}

std::string titleOf(const Instruction &instruction) {
  std::string title(nameOf(instruction.op()));
  if (instruction.isTransfer())
    title += " " + std::string(nameOf(instruction.mem()));
  else if (instruction.op() == Opcode::Alu)
    title += " " + std::string(nameOf(static_cast<AluOp>(instruction.aluOp)));
  return title;
}

namespace {

// The head, and what the title says.
bool isShownOtherwise(const Field &field) {
  return field.begin < 7 || field.member == &Instruction::memory ||
         field.member == &Instruction::aluOp;
}

std::string tokensOf(const Instruction &instruction) {
  std::string text;
  for (Queue queue : instruction.pops())
    text += (text.empty() ? "" : ", ") + std::string("pop ") + std::string(nameOf(queue));
  for (Queue queue : instruction.pushes())
    text += (text.empty() ? "" : ", ") + std::string("push ") + std::string(nameOf(queue));
  return text;
}

} // namespace

std::string InstructionSet::disassemble(const Instruction &instruction) const {
  std::string line = titleOf(instruction);
  constexpr size_t titleWidth = 13;
  line.resize(std::max(line.size(), titleWidth), ' ');
  for (const Field &field : fieldsOf(instruction.op()))
    if (!isShownOtherwise(field) && instruction.*field.member != 0)
      line += " " + std::string(field.name) + "=" + std::to_string(instruction.*field.member);
  std::string tokens = tokensOf(instruction);
  line += tokens.empty() ? "" : " ; " + tokens;
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

} // namespace headrace::vta
