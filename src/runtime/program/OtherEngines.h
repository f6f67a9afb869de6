// The engines besides the host that run steps of a program: their code and constants, loaded once,
// and what a call needs of each.
#pragma once

#include "runtime/program/Engine.h"

namespace headrace {

/// The engines of one program other than the host, with its code and constants. Safe from any
/// thread.
class OtherEngines {
public:
  /// State that one call needs to itself; handed on from call to call.
  struct Visits {
    struct Visit {
      std::unique_ptr<EngineSession> session;
      std::shared_ptr<void> arena;
      int64_t capacity = 0;
    };
    std::vector<Visit> all; // by engine
  };

  /// Loads the steps of other engines and moves their constants there: `program` keeps those that
  /// steps of the host read, too. Both must outlive it. Throws Error.
  OtherEngines(Program &program, const ProgramCode &code);

  /// Where tensors may be besides host memory.
  MemorySpace place() const { return known.empty() ? MemorySpace() : known.front().engine.place(); }
  bool runs(size_t step) const { return ofStep[step] != none; }
  std::optional<SimulatedStep> simulated(size_t step) const;
  bool holds(size_t buffer) const { return ofBuffer[buffer] != none; }

  Visits begin() const;
  /// Sets the addresses of the buffers that lie with other engines.
  void placeBuffers(Visits &visits, const Binding &binding, std::span<void *> buffers) const;
  /// Runs one of their steps, or a transfer.
  void run(size_t step, const Visits &visits, const Binding &binding,
           std::span<void *const> buffers) const;
  /// Waits for all of them.
  void finish(const Visits &visits, const Binding &binding, std::span<void *const> buffers) const;

private:
  struct Known {
    const Engine &engine;
    std::unique_ptr<const EngineProgram> steps;
    std::vector<std::pair<size_t, std::shared_ptr<void>>> constants; // by buffer id
  };
  static constexpr int none = -1;

  int numberOf(std::string_view engine) const;
  void moveConstants(Known &other);
  void dropConstantsReadElsewhere();

  Program &program;
  std::vector<Known> known;
  std::vector<int> ofStep, ofBuffer; // numbers in `known`; none: the host's
};

} // namespace headrace
