#include "runtime/vta/Chip.h"

#include "runtime/system/Error.h"
#include "runtime/vta/CycleModel.h"

#include <cstring>

namespace headrace::vta {

Chip::Chip(const Configuration &configuration, Dram &dram,
           std::span<const Instruction> instructions, size_t first)
    : configuration(configuration), instructionSet(configuration), dram(dram),
      instructions(instructions), first(first), accBytes(configuration.elementBytes(Memory::Acc)),
      uop(configuration.depth(Memory::Uop)),
      inp(configuration.depth(Memory::Inp) * configuration.elementBytes(Memory::Inp)),
      wgt(configuration.depth(Memory::Wgt) * configuration.elementBytes(Memory::Wgt)),
      acc(configuration.depth(Memory::Acc) * accBytes), uopLog(uop.size(), Module::Compute, {}),
      inpLog(configuration.depth(Memory::Inp), Module::Load, {Module::Compute}),
      wgtLog(configuration.depth(Memory::Wgt), Module::Load, {Module::Compute}),
      accLog(configuration.depth(Memory::Acc), Module::Compute, {Module::Store}),
      dramLog(dram.valid.size(), Module::Store, {Module::Load, Module::Compute}) {
  for (size_t i = 0; i < instructions.size(); ++i)
    byModule[static_cast<size_t>(instructions[i].module())].push_back(i);
}

void Chip::execute(size_t index) {
  const Instruction &instruction = instructions[index];
  current = index;
  order.begin(instruction);
  switch (instruction.op()) {
  case Opcode::Load:
    load(instruction);
    break;
  case Opcode::Store:
    store(instruction);
    break;
  case Opcode::Gemm:
    gemm(instruction);
    break;
  case Opcode::Alu:
    alu(instruction);
    break;
  case Opcode::Finish:
    finish();
    break;
  }
  order.end(instruction);
}

// --- what is wrong ---------------------------------------------------------------------------

void Chip::fail(FaultKind kind, const std::string &message) const {
  throw Fault(kind, first + current,
              nameOf(instructions[current], first + current) + " " + message);
}

void Chip::failRace(const AccessLog::Conflict &conflict, const std::string &what) const {
  size_t other = byModule[static_cast<size_t>(conflict.module)][conflict.epoch - 1];
  fail(FaultKind::Race, "and " + nameOf(instructions[other], first + other) + " both use " + what +
                            ", and no token orders them");
}

std::string Chip::elementName(Memory memory, size_t element) const {
  return std::string(nameOf(memory)) + "[" + std::to_string(element) + "]";
}

void Chip::checkRange(Memory memory, int64_t begin, int64_t count) const {
  auto depth = static_cast<int64_t>(configuration.depth(memory));
  if (begin + count > depth)
    fail(FaultKind::OutOfBounds, "uses " + std::string(nameOf(memory)) + "[" +
                                     std::to_string(begin) + ".." + std::to_string(begin + count) +
                                     "), which has " + std::to_string(depth) + " elements");
}

void Chip::readElement(AccessLog &log, Memory memory, size_t element) {
  Module module = instructions[current].module();
  if (auto conflict = log.read(module, element, order))
    failRace(*conflict, elementName(memory, element));
  if (!log.wasWritten(element))
    fail(FaultKind::ReadBeforeWrite, "reads " + elementName(memory, element));
}

void Chip::writeElement(AccessLog &log, Memory memory, size_t element) {
  if (auto conflict = log.write(element, order))
    failRace(*conflict, elementName(memory, element));
}

void Chip::touchDram(uint64_t offset, uint64_t bytes, bool writes) {
  const Instruction &instruction = instructions[current];
  dram.check(offset, bytes, writes, first + current, nameOf(instruction, first + current));
  for (size_t g = offset / dram.granule; g * dram.granule < offset + bytes; ++g) {
    auto conflict = writes ? dramLog.write(g, order) : dramLog.read(instruction.module(), g, order);
    if (conflict)
      failRace(*conflict, "byte " + std::to_string(g * dram.granule) + " of DRAM");
    if (writes)
      dram.valid[g] = true;
    else if (!dram.valid[g])
      fail(FaultKind::ReadBeforeWrite,
           "reads byte " + std::to_string(g * dram.granule) + " of DRAM, a result not yet stored");
  }
}

AccessLog &Chip::logOf(Memory memory) {
  switch (memory) {
  case Memory::Uop:
    return uopLog;
  case Memory::Wgt:
    return wgtLog;
  case Memory::Inp:
    return inpLog;
  default:
    return accLog;
  }
}

// --- transfers -------------------------------------------------------------------------------

void Chip::load(const Instruction &instruction) {
  if (instruction.movesNothing())
    return;
  checkRange(instruction.mem(), instruction.sramBase, instruction.filledElements());
  AccessLog &log = logOf(instruction.mem());
  int64_t width = instruction.xPadLeft + instruction.xSize + instruction.xPadRight;
  int64_t rows = instruction.yPadTop + instruction.ySize + instruction.yPadBottom;
  auto element = static_cast<size_t>(instruction.sramBase);
  for (size_t e = element; e < element + static_cast<size_t>(width * rows); ++e) {
    writeElement(log, instruction.mem(), e);
    if (instruction.mem() == Memory::Uop)
      uop[e] = {};
  }
  // Zeros everywhere, then the rows over them.
  auto zero = [&](std::vector<std::byte> &memory, size_t bytes) {
    std::fill_n(memory.begin() + static_cast<ptrdiff_t>(element * bytes),
                static_cast<size_t>(width * rows) * bytes, std::byte{0});
  };
  if (instruction.mem() == Memory::Inp)
    zero(inp, configuration.elementBytes(Memory::Inp));
  else if (instruction.mem() == Memory::Wgt)
    zero(wgt, configuration.elementBytes(Memory::Wgt));
  else if (instruction.mem() != Memory::Uop)
    zero(acc, accBytes);
  for (int64_t y = 0; y < instruction.ySize; ++y)
    loadRow(instruction,
            element + static_cast<size_t>((instruction.yPadTop + y) * width + instruction.xPadLeft),
            static_cast<uint64_t>(instruction.dramBase + y * instruction.xStride));
}

void Chip::loadRow(const Instruction &instruction, size_t element, uint64_t dramElement) {
  Memory memory = instruction.mem();
  auto count = static_cast<size_t>(instruction.xSize);
  size_t size = configuration.elementBytes(memory);
  touchDram(dramElement * size, count * size, false);
  const std::byte *from = dram.bytes.data() + dramElement * size;
  switch (memory) {
  case Memory::Inp:
    std::memcpy(inp.data() + element * size, from, count * size);
    break;
  case Memory::Wgt:
    std::memcpy(wgt.data() + element * size, from, count * size);
    break;
  case Memory::Acc:
    std::memcpy(acc.data() + element * size, from, count * size);
    break;
  case Memory::Acc8: // signs are extended
    std::copy_n(reinterpret_cast<const int8_t *>(from), count * size,
                reinterpret_cast<int32_t *>(accumulator(element)));
    break;
  case Memory::Uop:
    for (size_t i = 0; i < count; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, from + 4 * i, 4);
      uop[element + i] = instructionSet.decode(bits);
    }
    break;
  case Memory::Out:
    throw InternalError("LOAD OUT was decoded");
  }
}

// Cuts off what the width of results does not hold.
void Chip::store(const Instruction &instruction) {
  if (instruction.movesNothing())
    return;
  checkRange(Memory::Out, instruction.sramBase, instruction.xSize * instruction.ySize);
  size_t size = configuration.elementBytes(Memory::Out),
         width = size_t{1} << (configuration.logInpWidth - 3);
  auto element = static_cast<size_t>(instruction.sramBase);
  auto count = static_cast<size_t>(instruction.xSize);
  for (int64_t y = 0; y < instruction.ySize; ++y, element += count) {
    uint64_t offset = static_cast<uint64_t>(instruction.dramBase + y * instruction.xStride) * size;
    for (size_t e = element; e < element + count; ++e)
      readElement(accLog, Memory::Acc, e);
    touchDram(offset, count * size, true);
    const std::byte *from = accumulator(element);
    for (size_t i = 0; i < count * size / width; ++i)
      std::memcpy(dram.bytes.data() + offset + i * width, from + 4 * i, width);
  }
}

// --- micro-ops -------------------------------------------------------------------------------

void Chip::checkSweep(const Instruction &instruction, Use use) {
  if (instruction.uopBegin > instruction.uopEnd)
    fail(FaultKind::OutOfBounds, "ends its micro-ops at " + std::to_string(instruction.uopEnd) +
                                     ", before they begin at " +
                                     std::to_string(instruction.uopBegin));
  checkRange(Memory::Uop, instruction.uopBegin, instruction.uopEnd - instruction.uopBegin);
  if (instruction.microOpCount() == 0)
    return;
  auto furthest = [&](int64_t factorOut, int64_t factorIn) {
    return factorOut * (instruction.iterOut - 1) + factorIn * (instruction.iterIn - 1);
  };
  int64_t dst = furthest(instruction.dstFactorOut, instruction.dstFactorIn),
          src = furthest(instruction.srcFactorOut, instruction.srcFactorIn),
          wgt = furthest(instruction.wgtFactorOut, instruction.wgtFactorIn);
  for (int64_t u = instruction.uopBegin; u < instruction.uopEnd; ++u) {
    readElement(uopLog, Memory::Uop, static_cast<size_t>(u));
    const MicroOp &op = uop[static_cast<size_t>(u)];
    checkRange(Memory::Acc, dst + op.dst, 1);
    if (use == Use::Gemm) {
      checkRange(Memory::Inp, src + op.src, 1);
      checkRange(Memory::Wgt, wgt + op.wgt, 1);
    } else if (use == Use::Alu) {
      checkRange(Memory::Acc, src + op.src, 1);
    }
  }
}

/// Calls body(dst, src, wgt) for each micro-op in each iteration.
template <class Body> void Chip::sweep(const Instruction &instruction, Body body) {
  for (int64_t i = 0; i < instruction.iterOut; ++i)
    for (int64_t j = 0; j < instruction.iterIn; ++j) {
      int64_t dst = instruction.dstFactorOut * i + instruction.dstFactorIn * j;
      int64_t src = instruction.srcFactorOut * i + instruction.srcFactorIn * j;
      int64_t wgt = instruction.wgtFactorOut * i + instruction.wgtFactorIn * j;
      for (int64_t u = instruction.uopBegin; u < instruction.uopEnd; ++u) {
        const MicroOp &op = uop[static_cast<size_t>(u)];
        body(static_cast<size_t>(dst + op.dst), static_cast<size_t>(src + op.src),
             static_cast<size_t>(wgt + op.wgt));
      }
    }
}

void Chip::gemm(const Instruction &instruction) {
  checkSweep(instruction, instruction.reset ? Use::GemmReset : Use::Gemm);
  if (instruction.reset) {
    sweep(instruction, [&](size_t dst, size_t, size_t) {
      writeElement(accLog, Memory::Acc, dst);
      std::memset(accumulator(dst), 0, accBytes);
    });
    return;
  }
  bool wideInp = configuration.logInpWidth == 4, wideWgt = configuration.logWgtWidth == 4;
  if (wideInp)
    wideWgt ? gemmSweep<int16_t, int16_t>(instruction) : gemmSweep<int16_t, int8_t>(instruction);
  else
    wideWgt ? gemmSweep<int8_t, int16_t>(instruction) : gemmSweep<int8_t, int8_t>(instruction);
}

template <class Inp, class Wgt> void Chip::gemmSweep(const Instruction &instruction) {
  auto batch = static_cast<size_t>(configuration.batch()),
       block = static_cast<size_t>(configuration.block());
  sweep(instruction, [&](size_t dst, size_t src, size_t weight) {
    readElement(inpLog, Memory::Inp, src);
    readElement(wgtLog, Memory::Wgt, weight);
    if (!accLog.wasWritten(dst))
      fail(FaultKind::ReadBeforeWrite, "adds to " + elementName(Memory::Acc, dst));
    writeElement(accLog, Memory::Acc, dst);
    const auto *a = reinterpret_cast<const Inp *>(inp.data()) + src * batch * block;
    const auto *w = reinterpret_cast<const Wgt *>(wgt.data()) + weight * block * block;
    auto *c = reinterpret_cast<uint32_t *>(accumulator(dst)); // unsigned: sums wrap
    for (size_t b = 0; b < batch; ++b)
      for (size_t o = 0; o < block; ++o) {
        uint32_t sum = 0;
        for (size_t k = 0; k < block; ++k)
          sum += static_cast<uint32_t>(static_cast<int32_t>(a[b * block + k]) * w[o * block + k]);
        c[b * block + o] += sum;
      }
  });
}

// Arithmetic is modulo 2^32. A shift by any amount is a division by a power of two, rounded down,
// or a product with one.
static int32_t applyAlu(AluOp op, int32_t x, int32_t y) {
  auto wrapped = [](uint32_t bits) { return static_cast<int32_t>(bits); };
  switch (op) {
  case AluOp::Min:
    return std::min(x, y);
  case AluOp::Max:
    return std::max(x, y);
  case AluOp::Add:
    return wrapped(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
  case AluOp::Mul:
    return wrapped(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
  case AluOp::Shr:
    if (y >= 0)
      return x >> std::min(y, 31);
    return y <= -32 ? 0 : wrapped(static_cast<uint32_t>(x) << -y);
  }
  throw InternalError("no such operation");
}

void Chip::alu(const Instruction &instruction) {
  checkSweep(instruction, instruction.useImm ? Use::AluImmediate : Use::Alu);
  auto op = static_cast<AluOp>(instruction.aluOp);
  size_t lanes = accBytes / 4;
  sweep(instruction, [&](size_t dst, size_t src, size_t) {
    readElement(accLog, Memory::Acc, dst);
    if (!instruction.useImm)
      readElement(accLog, Memory::Acc, src);
    writeElement(accLog, Memory::Acc, dst);
    auto *x = reinterpret_cast<int32_t *>(accumulator(dst));
    const auto *y = reinterpret_cast<const int32_t *>(accumulator(src));
    for (size_t i = 0; i < lanes; ++i)
      x[i] = applyAlu(op, x[i], instruction.useImm ? static_cast<int32_t>(instruction.imm) : y[i]);
  });
}

// The host reads results once FINISH has run: every store must be known to be over.
void Chip::finish() const {
  const std::vector<size_t> &stores = byModule[static_cast<size_t>(Module::Store)];
  Epoch over = order.known(Module::Compute, Module::Store);
  if (over < stores.size())
    fail(FaultKind::Finish,
         "does not wait for " + nameOf(instructions[stores[over]], first + stores[over]));
}

} // namespace headrace::vta
