// The measuring process (tune/worker), as the tuner sees it: started when there is a request, and
// again after it died.
#pragma once

#include "runtime/system/Json.h"

#include <filesystem>
#include <sys/types.h>

namespace headrace::tune {

class WorkerProcess {
public:
  /// The process runs this program.
  explicit WorkerProcess(std::filesystem::path program) : program(std::move(program)) {}
  ~WorkerProcess() { end(); }
  WorkerProcess(const WorkerProcess &) = delete;

  struct Answer {
    enum class Kind { Answered, Died, TimedOut } kind = Kind::Died;
    Json json;
    std::string reason; // of a death: "SIGSEGV"
  };
  /// Sends a request and waits for the answer, `seconds` at most: a process that takes longer is
  /// ended. Throws Error if no process can be started.
  Answer ask(const Json &request, double seconds);
  void end();

private:
  void start();
  std::string reap();

  std::filesystem::path program;
  pid_t process = -1;
  int channel = -1;
};

/// The measuring program: HEADRACE_TUNE_WORKER, or `headrace-tune-worker` next to the program or
/// library of this process. Throws Error if it is not there.
std::filesystem::path workerProgram();

} // namespace headrace::tune
