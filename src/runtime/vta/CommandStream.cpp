#include "runtime/vta/CommandStream.h"

#include "runtime/system/Error.h"
#include "runtime/system/Rounding.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <cstring>

namespace headrace::vta {

namespace {

int64_t Instruction::*popFlag(Queue queue) {
  bool fromPrevious = queue == Queue::LoadToCompute || queue == Queue::ComputeToStore;
  return fromPrevious ? &Instruction::popPrev : &Instruction::popNext;
}

int64_t Instruction::*pushFlag(Queue queue) {
  bool toNext = queue == Queue::LoadToCompute || queue == Queue::ComputeToStore;
  return toNext ? &Instruction::pushNext : &Instruction::pushPrev;
}

bool isMicroOpLoad(const Instruction &instruction) {
  return instruction.op() == Opcode::Load && instruction.mem() == Memory::Uop &&
         !instruction.movesNothing();
}

} // namespace

CommandStream::CommandStream(const Configuration &configuration)
    : program{configuration, {}, {}, 0, {}, {}, {}}, set(configuration),
      microOps(configuration.depth(Memory::Uop)) {}

size_t CommandStream::allocate(std::string name, Role role, DType dtype, Shape shape,
                               Layout layout) {
  if (std::string reason = unsupportedLayoutReason(layout, shape); !reason.empty())
    throw Error(ErrorKind::InvalidArgument, "buffer " + inQuotes(name) + ": " + reason);
  if (std::ranges::count(program.buffers, name, &Buffer::name) != 0)
    throw Error(ErrorKind::InvalidArgument, "there are two buffers " + inQuotes(name));
  uint64_t offset = roundedUp(program.dram.size(), configuration().alignment());
  uint64_t bytes = static_cast<uint64_t>(paddedElements(layout, shape)) * sizeOf(dtype);
  program.dram.resize(offset + bytes);
  program.buffers.push_back(
      {std::move(name), role, offset, bytes, dtype, std::move(shape), std::move(layout)});
  return program.buffers.size() - 1;
}

void CommandStream::fill(size_t buffer, const Tensor &values) {
  const Buffer &to = program.buffers.at(buffer);
  if (values.dtype() != to.dtype || values.shape() != to.shape)
    throw Error(ErrorKind::ShapeMismatch, "buffer " + inQuotes(to.name) + ": expected " +
                                              shapeString(to.shape) + ", got " +
                                              shapeString(values.shape()));
  pack(values, to.layout, program.bytesOf(to));
}

// --- instructions ------------------------------------------------------------------------------

Instruction CommandStream::transfer(Opcode opcode, Memory memory, int64_t sram,
                                    const Slice &slice) const {
  const Buffer &buffer = program.buffers.at(slice.buffer);
  auto size = static_cast<int64_t>(configuration().elementBytes(memory));
  Instruction instruction;
  instruction.opcode = static_cast<int64_t>(opcode);
  instruction.memory = static_cast<int64_t>(memory);
  instruction.sramBase = sram;
  instruction.dramBase = static_cast<int64_t>(buffer.offset) / size + slice.first;
  instruction.xSize = slice.columns;
  instruction.ySize = slice.rows;
  instruction.xStride = slice.stride == 0 ? slice.columns : slice.stride;
  return instruction;
}

void CommandStream::load(Memory memory, int64_t sram, const Slice &from, const Padding &padding) {
  Instruction instruction = transfer(Opcode::Load, memory, sram, from);
  instruction.yPadTop = padding.top;
  instruction.yPadBottom = padding.bottom;
  instruction.xPadLeft = padding.left;
  instruction.xPadRight = padding.right;
  append(instruction);
}

void CommandStream::store(const Slice &to, int64_t sram) {
  append(transfer(Opcode::Store, Memory::Out, sram, to));
}

void CommandStream::run(const MicroCode &code) {
  SweepLimits limits = {configuration().depth(Memory::Uop), set.largest(&Instruction::iterIn)};
  for (const Sweep &sweep : compression ? compress(code.ops, limits) : chop(code.ops, limits))
    run(code, sweep);
}

void CommandStream::run(const MicroCode &code, const Sweep &sweep) {
  std::vector<uint32_t> body;
  body.reserve(sweep.body.size());
  for (const MicroOp &op : sweep.body)
    body.push_back(set.encode(op));
  MicroOpBuffer::Place place = microOps.place(body);
  if (place.dram) {
    Instruction load;
    load.memory = static_cast<int64_t>(Memory::Uop);
    load.sramBase = static_cast<int64_t>(place.sram);
    load.dramBase = static_cast<int64_t>(*place.dram); // from where micro-ops begin: see finish()
    load.ySize = 1;
    load.xSize = load.xStride = static_cast<int64_t>(body.size());
    append(load);
  }
  using Kind = MicroCode::Kind;
  bool isAlu = code.kind == Kind::Alu || code.kind == Kind::AluImmediate;
  Instruction instruction;
  instruction.opcode = static_cast<int64_t>(isAlu ? Opcode::Alu : Opcode::Gemm);
  instruction.reset = code.kind == Kind::Reset;
  instruction.uopBegin = static_cast<int64_t>(place.sram);
  instruction.uopEnd = static_cast<int64_t>(place.sram + body.size());
  instruction.iterOut = sweep.iterOut;
  instruction.iterIn = sweep.iterIn;
  instruction.dstFactorOut = sweep.factorOut.dst;
  instruction.dstFactorIn = sweep.factorIn.dst;
  instruction.srcFactorOut = sweep.factorOut.src;
  instruction.srcFactorIn = sweep.factorIn.src;
  instruction.wgtFactorOut = sweep.factorOut.wgt;
  instruction.wgtFactorIn = sweep.factorIn.wgt;
  if (isAlu) {
    instruction.aluOp = static_cast<int64_t>(code.op);
    instruction.useImm = code.kind == Kind::AluImmediate;
    instruction.imm = code.imm;
  }
  append(instruction);
}

void CommandStream::append(Instruction instruction) {
  auto module = static_cast<size_t>(instruction.module());
  // Micro-ops never change, and only compute has their buffer: loading them waits for no other
  // module.
  if (!isMicroOpLoad(instruction)) {
    for (Queue queue : popsNext[module])
      instruction.*popFlag(queue) = 1;
    popsNext[module].clear();
  }
  last[module] = instructions.size();
  instructions.push_back(instruction);
}

void CommandStream::appendNothing(Module module) {
  Instruction nothing;
  Memory memory = module == Module::Load      ? Memory::Inp
                  : module == Module::Compute ? Memory::Uop
                                              : Memory::Out;
  nothing.opcode = static_cast<int64_t>(module == Module::Store ? Opcode::Store : Opcode::Load);
  nothing.memory = static_cast<int64_t>(memory);
  append(nothing);
}

// --- tokens --------------------------------------------------------------------------------------

void CommandStream::push(Module from, Module to) {
  Queue queue = queueBetween(from, to);
  auto at = static_cast<size_t>(from);
  bool waits = !popsNext[at].empty(); // what it waits for comes before what it gives
  if (waits || !last[at] || instructions[*last[at]].*pushFlag(queue))
    appendNothing(from);
  instructions[*last[at]].*pushFlag(queue) = 1;
}

void CommandStream::pop(Module from, Module to) {
  Queue queue = queueBetween(from, to);
  std::vector<Queue> &pops = popsNext[static_cast<size_t>(to)];
  if (std::ranges::count(pops, queue) != 0)
    appendNothing(to); // an instruction takes one token of a queue
  pops.push_back(queue);
}

// --- the whole -----------------------------------------------------------------------------------

void CommandStream::endRun() {
  for (Module module : {Module::Load, Module::Store})
    if (!popsNext[static_cast<size_t>(module)].empty())
      appendNothing(module);
  if (last[static_cast<size_t>(Module::Store)]) {
    push(Module::Store, Module::Compute);
    pop(Module::Store, Module::Compute);
  }
  Instruction finish;
  finish.opcode = static_cast<int64_t>(Opcode::Finish);
  append(finish);
  program.steps.push_back({false, runBegin, instructions.size(), ""});
  runBegin = instructions.size();
  last = {};
  microOps.forget();
}

void CommandStream::hostStep(std::string name) {
  program.steps.push_back({true, 0, 0, std::move(name)});
}

Program CommandStream::finish() {
  if (runBegin != instructions.size())
    endRun();
  program.microOps = microOps.all();
  program.microOpOffset = roundedUp(program.dram.size(), configuration().alignment());
  program.dram.resize(program.microOpOffset + program.microOps.size() * 4);
  if (!program.microOps.empty())
    std::memcpy(program.dram.data() + program.microOpOffset, program.microOps.data(),
                program.microOps.size() * 4);
  for (Instruction &instruction : instructions) {
    if (isMicroOpLoad(instruction))
      instruction.dramBase += static_cast<int64_t>(program.microOpOffset / 4);
    program.instructions.push_back(set.encode(instruction));
  }
  return std::move(program);
}

} // namespace headrace::vta
