// The runtime's face: buffers in DRAM, transfers, micro-code and tokens in; a program out.
#pragma once

#include "runtime/vta/MicroCode.h"
#include "runtime/vta/MicroOpBuffer.h"
#include "runtime/vta/Program.h"

namespace headrace::vta {

/// A rectangle of a buffer, counted in elements of the memory it goes to or comes from.
struct Slice {
  size_t buffer;
  int64_t first = 0;
  int64_t columns = 1, rows = 1;
  int64_t stride = 0; ///< between rows; 0: they follow each other
};

/// Elements of zeros that a load puts around what it reads.
struct Padding {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// Writes a program: DRAM buffers, transfers, micro-ops, dependences. Throws Error if one does not
/// fit the configuration.
class CommandStream {
public:
  explicit CommandStream(const Configuration &configuration);
  const Configuration &configuration() const { return program.configuration; }
  const Buffer &buffer(size_t number) const { return program.buffers.at(number); }

  /// A place in DRAM, of zeros. Returns its number.
  size_t allocate(std::string name, Role role, DType dtype, Shape shape, Layout layout);
  /// Gives a buffer its values before the program runs.
  void fill(size_t buffer, const Tensor &values);

  /// To the memory on the chip from element `sram` on.
  void load(Memory memory, int64_t sram, const Slice &from, const Padding &padding = {});
  void store(const Slice &to, int64_t sram);
  /// Loads the micro-ops if they are not in their buffer, and runs them.
  void run(const MicroCode &code);
  /// Runs the micro-ops of a sweep, whose loops are known, as `code` says.
  void run(const MicroCode &code, const Sweep &sweep);

  /// A dependence: all that `to` does from here on waits for all that `from` has done up to here. A
  /// token goes from the last instruction of `from` to the next of `to`. Every push needs its pop.
  void push(Module from, Module to);
  void pop(Module from, Module to);

  /// Ends instructions that run together; FINISH waits for every store.
  void endRun();
  void hostStep(std::string name);

  /// Whether loops are looked for in micro-code.
  void setCompression(bool on) { compression = on; }

  Program finish();

private:
  void append(Instruction instruction);
  void appendNothing(Module module);
  Instruction transfer(Opcode opcode, Memory memory, int64_t sram, const Slice &slice) const;

  Program program;
  InstructionSet set;
  MicroOpBuffer microOps;
  bool compression = true;
  std::vector<Instruction> instructions;
  size_t runBegin = 0;
  /// The last instruction of each module in the present run.
  std::array<std::optional<size_t>, moduleCount> last;
  /// Queues that the next instruction of a module pops.
  std::array<std::vector<Queue>, moduleCount> popsNext;
};

} // namespace headrace::vta
