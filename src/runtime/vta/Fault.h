// A fault of a program, found by running it.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headrace::vta {

/// What a program did that the accelerator does not allow.
enum class FaultKind {
  IllegalInstruction, ///< bits that mean nothing
  Finish,             ///< no FINISH, something after it, or a store that it does not wait for
  OutOfBounds,        ///< an address outside of a memory or of every buffer in DRAM
  ReadBeforeWrite,    ///< nobody has written what is read
  WriteProtected,     ///< a STORE into inputs, weights or micro-ops
  Race,               ///< two modules use an element, one writes it, and no token orders them
  Deadlock,           ///< everybody waits
  LeftoverTokens,     ///< pushed, and never popped
  CycleLimit
};

/// "illegal instruction", "deadlock", ...
std::string_view nameOf(FaultKind kind);

/// A fault that the simulator found in a program.
class Fault : public std::runtime_error {
public:
  /// The message begins with the kind and names the instruction.
  Fault(FaultKind kind, size_t instruction, const std::string &message)
      : std::runtime_error(std::string(nameOf(kind)) + ": " + message), faultKind(kind),
        index(instruction) {}
  FaultKind kind() const { return faultKind; }
  /// Its number in the program.
  size_t instruction() const { return index; }

private:
  FaultKind faultKind;
  size_t index;
};

} // namespace headrace::vta
