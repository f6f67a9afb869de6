// Who runs the steps of a program. An engine has memory and kernels of its own: the process itself
// ("cpu"), a device ("cuda"), an accelerator or its simulator.
//
// A program all of whose steps are one engine's may be run by that engine as a whole (`runsAlone`).
// Otherwise the host goes through the steps: it runs its own, gives the others to a session of
// their engine, and carries out the transfers between memories, which are steps as well.
#pragma once

#include "runtime/program/Binding.h"
#include "runtime/program/ProgramRunner.h"
#include "runtime/system/Processor.h"

namespace headrace {

/// Where things are in one call of a program that the host drives.
struct EngineCall {
  const Binding &binding;
  std::span<void *const> buffers; // by buffer id
  std::byte *arena;               // the engine's own: temporaries, then the workspaces of steps
};

/// An engine's part in one call at a time. Work is done in the order in which it is given.
class EngineSession {
public:
  virtual ~EngineSession() = default;
  /// Memory of the engine's, aligned to `memoryAlignment`; other sessions may read it, too. Throws
  /// Error naming `what` if there is not this much.
  virtual std::shared_ptr<void> allocate(int64_t bytes, const char *what) = 0;
  /// From host memory, which may be written again when it returns.
  virtual void copyIn(void *to, const void *from, int64_t bytes) = 0;
  /// To host memory; done when it returns.
  virtual void copyOut(void *to, const void *from, int64_t bytes) = 0;
  /// Starts a step, which may not be done when it returns.
  virtual void run(size_t step, const EngineCall &call) = 0;
  /// Waits for all that was started. Throws Error if a step failed.
  virtual void finish(const EngineCall &call) = 0;
};

/// The time of a step on a machine that is simulated, and a note in the machine's own words.
struct SimulatedStep {
  double microseconds;
  std::string note;
};

/// An engine's steps of one program, ready to run. Safe from any thread.
class EngineProgram {
public:
  virtual ~EngineProgram() = default;
  virtual std::unique_ptr<EngineSession> begin() const = 0;
  /// What a simulator reports about a step, whose wall time is meaningless; nothing for other
  /// engines.
  virtual std::optional<SimulatedStep> simulated(size_t step) const {
    (void)step;
    return std::nullopt;
  }
};

/// A kind of device or interpreter that runs steps of programs in its own memory.
class Engine {
public:
  virtual ~Engine() = default;
  /// The name that steps and packages use.
  virtual std::string_view name() const = 0;
  /// Why code that needs this does not run here; empty if it does.
  virtual std::string unsupportedReason(const ProcessorNeeds &needs) const = 0;

  /// Prepares the steps of `program` that are its own, each with an image of the name `symbol`;
  /// both must outlive the result. Throws Error.
  virtual std::unique_ptr<const EngineProgram> load(const Program &program,
                                                    const ProgramCode &code) const = 0;

  /// Whether it runs programs that are its alone, with inputs and outputs wherever the caller has
  /// them.
  virtual bool runsAlone() const { return false; }
  /// A runner of such a program, if it does.
  virtual std::unique_ptr<ProgramRunner> makeRunner(Program program, ProgramCode code) const;

  /// Where tensors may be besides host memory.
  virtual MemorySpace place() const { return {}; }
  /// Whose memory an address is in. Throws Error if nobody can tell.
  virtual MemorySpace placeOf(const void *) const { return {}; }
};

/// The engine of that name; null if this process has none, or throws Error.
const Engine *lookUpEngine(std::string_view name);
const Engine &findEngine(std::string_view name);
/// Makes one known, for good; a name that is known already stays what it is.
void addEngine(const Engine &engine);
/// The engines of this build besides the host's: a table in src/engines.
std::vector<const Engine *> shippedEngines();

/// The engine whose code this is: the host's architecture is that of "cpu", any other is the name
/// of its engine.
std::string engineOf(const ProcessorNeeds &needs);
/// Whether this machine runs code that needs this.
bool runsHere(const ProcessorNeeds &needs);

} // namespace headrace
