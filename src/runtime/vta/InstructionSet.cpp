#include "runtime/vta/InstructionSet.h"

#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::vta {

namespace {

constexpr int half = 64;

// Widths that are the same in every configuration.
constexpr int iterationBits = 14, immediateBits = 16;

using I = Instruction;

/// Fields one after the other, first of the one half, then of the other.
class Placer {
public:
  void beginSecondHalf() {
    firstHalf = next;
    next = half;
  }
  void add(std::string_view name, int64_t I::*member, int width, bool isSigned = false) {
    fields.push_back({name, member, next, width, isSigned});
    next += width;
  }

  std::vector<Field> fields;
  int firstHalf = 0, next = 0;
};

void addHead(Placer &placer) {
  placer.add("opcode", &I::opcode, 3);
  placer.add("pop_prev", &I::popPrev, 1);
  placer.add("pop_next", &I::popNext, 1);
  placer.add("push_prev", &I::pushPrev, 1);
  placer.add("push_next", &I::pushNext, 1);
}

std::vector<Field> transferFields() {
  Placer placer;
  addHead(placer);
  placer.add("mem_id", &I::memory, 3);
  placer.add("sram_base", &I::sramBase, 16);
  placer.add("dram_base", &I::dramBase, 32);
  placer.beginSecondHalf();
  placer.add("y_size", &I::ySize, 16);
  placer.add("x_size", &I::xSize, 16);
  placer.add("x_stride", &I::xStride, 16);
  placer.add("y_pad_top", &I::yPadTop, 4);
  placer.add("y_pad_bottom", &I::yPadBottom, 4);
  placer.add("x_pad_left", &I::xPadLeft, 4);
  placer.add("x_pad_right", &I::xPadRight, 4);
  return placer.fields;
}

// The loop fields, which GEMM and ALU share.
Placer loopFields(const Configuration &configuration) {
  int uop = configuration.logDepth(Memory::Uop), dst = configuration.logDepth(Memory::Acc),
      src = configuration.logDepth(Memory::Inp);
  Placer placer;
  addHead(placer);
  placer.add("reset", &I::reset, 1);
  placer.add("uop_begin", &I::uopBegin, uop);
  placer.add("uop_end", &I::uopEnd, uop + 1);
  placer.add("iter_out", &I::iterOut, iterationBits);
  placer.add("iter_in", &I::iterIn, iterationBits);
  placer.beginSecondHalf();
  placer.add("dst_factor_out", &I::dstFactorOut, dst);
  placer.add("dst_factor_in", &I::dstFactorIn, dst);
  placer.add("src_factor_out", &I::srcFactorOut, src);
  placer.add("src_factor_in", &I::srcFactorIn, src);
  return placer;
}

Placer gemmFields(const Configuration &configuration) {
  Placer placer = loopFields(configuration);
  placer.add("wgt_factor_out", &I::wgtFactorOut, configuration.logDepth(Memory::Wgt));
  placer.add("wgt_factor_in", &I::wgtFactorIn, configuration.logDepth(Memory::Wgt));
  return placer;
}

Placer aluFields(const Configuration &configuration) {
  Placer placer = loopFields(configuration);
  placer.add("alu_op", &I::aluOp, 3);
  placer.add("use_imm", &I::useImm, 1);
  placer.add("imm", &I::imm, immediateBits, true);
  return placer;
}

uint64_t maskOf(int width) { return (uint64_t{1} << width) - 1; }

int64_t valueIn(const Word &word, const Field &field) {
  uint64_t bits = word[static_cast<size_t>(field.begin / half)] >> (field.begin % half);
  auto value = static_cast<int64_t>(bits & maskOf(field.width));
  bool negative = field.isSigned && (value >> (field.width - 1)) != 0;
  return negative ? value - (int64_t{1} << field.width) : value;
}

bool fits(int64_t value, const Field &field) {
  int64_t least = field.isSigned ? -(int64_t{1} << (field.width - 1)) : 0;
  return value >= least && value < least + (int64_t{1} << field.width);
}

std::string bitsOf(std::string_view what, int bits, int room, std::string_view keys) {
  return std::string(what) + " takes " + std::to_string(bits) + " bits and has " +
         std::to_string(room) + ": expected smaller " + std::string(keys);
}

// The illegal field of an instruction; empty if it can run.
std::string whyIllegal(const Instruction &instruction) {
  Opcode opcode = instruction.op();
  if (opcode == Opcode::Load && (instruction.memory > 5 || instruction.mem() == Memory::Out))
    return "LOAD has no memory " + std::to_string(instruction.memory);
  if (opcode == Opcode::Store && instruction.mem() != Memory::Out)
    return "STORE has no memory " + std::to_string(instruction.memory);
  if (opcode == Opcode::Store && (instruction.yPadTop || instruction.yPadBottom ||
                                  instruction.xPadLeft || instruction.xPadRight))
    return "STORE has no padding";
  if (opcode == Opcode::Alu && instruction.aluOp > static_cast<int64_t>(AluOp::Mul))
    return "ALU has no operation " + std::to_string(instruction.aluOp);
  if (opcode == Opcode::Alu && instruction.reset)
    return "ALU has no reset";
  Module module = instruction.module();
  if (module == Module::Load && (instruction.popPrev || instruction.pushPrev))
    return "there is no module before load";
  if (module == Module::Store && (instruction.popNext || instruction.pushNext))
    return "there is no module after store";
  return "";
}

} // namespace

std::string whyNoInstructions(const Configuration &configuration) {
  int dst = configuration.logDepth(Memory::Acc), src = configuration.logDepth(Memory::Inp),
      wgt = configuration.logDepth(Memory::Wgt);
  if (int bits = dst + src + wgt; bits > 32)
    return bitsOf("a micro-op", bits, 32,
                  "LOG_ACC_BUFF_SIZE, LOG_INP_BUFF_SIZE or LOG_WGT_BUFF_SIZE");
  if (int bits = gemmFields(configuration).firstHalf; bits > half)
    return bitsOf("the first half of GEMM", bits, half, "LOG_UOP_BUFF_SIZE");
  if (int bits = gemmFields(configuration).next - half; bits > half)
    return bitsOf("the second half of GEMM", bits, half,
                  "LOG_ACC_BUFF_SIZE, LOG_INP_BUFF_SIZE or LOG_WGT_BUFF_SIZE");
  if (int bits = aluFields(configuration).next - half; bits > half)
    return bitsOf("the second half of ALU", bits, half, "LOG_ACC_BUFF_SIZE or LOG_INP_BUFF_SIZE");
  return "";
}

Module Instruction::module() const {
  if (op() == Opcode::Store)
    return Module::Store;
  bool fetches = op() == Opcode::Load && (mem() == Memory::Inp || mem() == Memory::Wgt);
  return fetches ? Module::Load : Module::Compute;
}

int64_t Instruction::filledElements() const {
  return movesNothing() ? 0 : (yPadTop + ySize + yPadBottom) * (xPadLeft + xSize + xPadRight);
}

Queues Instruction::pops() const {
  Queues queues;
  Module at = module();
  if (popPrev)
    queues.add(at == Module::Store ? Queue::ComputeToStore : Queue::LoadToCompute);
  if (popNext)
    queues.add(at == Module::Load ? Queue::ComputeToLoad : Queue::StoreToCompute);
  return queues;
}

Queues Instruction::pushes() const {
  Queues queues;
  Module at = module();
  if (pushPrev)
    queues.add(at == Module::Store ? Queue::StoreToCompute : Queue::ComputeToLoad);
  if (pushNext)
    queues.add(at == Module::Load ? Queue::LoadToCompute : Queue::ComputeToStore);
  return queues;
}

InstructionSet::InstructionSet(const Configuration &configuration)
    : transfer(transferFields()), gemm(gemmFields(configuration).fields),
      alu(aluFields(configuration).fields), dstBits(configuration.logDepth(Memory::Acc)),
      srcBits(configuration.logDepth(Memory::Inp)), wgtBits(configuration.logDepth(Memory::Wgt)) {
  Placer head;
  addHead(head);
  finish = head.fields;
}

std::span<const Field> InstructionSet::fieldsOf(Opcode opcode) const {
  switch (opcode) {
  case Opcode::Load:
  case Opcode::Store:
    return transfer;
  case Opcode::Gemm:
    return gemm;
  case Opcode::Alu:
    return alu;
  case Opcode::Finish:
    return finish;
  }
  throw InternalError("no such opcode");
}

int64_t InstructionSet::largest(int64_t Instruction::*member) const {
  auto field = std::ranges::find(gemm, member, &Field::member);
  return static_cast<int64_t>(maskOf(field->width));
}

Word InstructionSet::encode(const Instruction &instruction) const {
  Word word{};
  for (const Field &field : fieldsOf(instruction.op())) {
    int64_t value = instruction.*field.member;
    if (!fits(value, field))
      throw Error(ErrorKind::InvalidArgument,
                  titleOf(instruction) + ": expected a value of " + std::string(field.name) +
                      " in " + std::to_string(field.width) + " bits, got " + std::to_string(value));
    word[static_cast<size_t>(field.begin / half)] |=
        (static_cast<uint64_t>(value) & maskOf(field.width)) << (field.begin % half);
  }
  return word;
}

InstructionSet::Decoded InstructionSet::decode(const Word &word) const {
  uint64_t opcode = word[0] & 7;
  if (opcode > static_cast<uint64_t>(Opcode::Alu))
    return {{}, "there is no opcode " + std::to_string(opcode)};
  Instruction instruction;
  Word rest = word;
  for (const Field &field : fieldsOf(static_cast<Opcode>(opcode))) {
    instruction.*field.member = valueIn(word, field);
    rest[static_cast<size_t>(field.begin / half)] &= ~(maskOf(field.width) << (field.begin % half));
  }
  if (rest != Word{})
    return {{}, std::string(nameOf(instruction.op())) + " has bits set that belong to no field"};
  if (std::string reason = whyIllegal(instruction); !reason.empty())
    return {{}, reason};
  return {instruction, ""};
}

uint32_t InstructionSet::encode(const MicroOp &op) const {
  auto bits = [](uint32_t value, int width, const char *name) {
    if ((uint64_t{value} >> width) != 0)
      throw Error(ErrorKind::InvalidArgument, std::string("micro-op: expected ") + name + " in " +
                                                  std::to_string(width) + " bits, got " +
                                                  std::to_string(value));
    return uint64_t{value};
  };
  return static_cast<uint32_t>(bits(op.dst, dstBits, "dst") |
                               bits(op.src, srcBits, "src") << dstBits |
                               bits(op.wgt, wgtBits, "wgt") << (dstBits + srcBits));
}

MicroOp InstructionSet::decode(uint32_t microOp) const {
  uint64_t bits = microOp; // a shift by 32 is one that 32 bits do not have
  auto part = [&](int begin, int width) {
    return static_cast<uint32_t>((bits >> begin) & maskOf(width));
  };
  return {part(0, dstBits), part(dstBits, srcBits), part(dstBits + srcBits, wgtBits)};
}

} // namespace headrace::vta
