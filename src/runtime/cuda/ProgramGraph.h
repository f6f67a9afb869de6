// A whole program as one graph of the driver: 50 small kernels cost one submission.
#pragma once

#include "runtime/cuda/DeviceProgram.h"

namespace headrace::cuda {

/// A CUDA graph of a program's launches, for fixed addresses and sizes.
class ProgramGraph {
public:
  /// Records all steps with these addresses. `recorder` is a stream that no other work uses.
  ProgramGraph(const DeviceProgram &program, std::shared_ptr<const DeviceBinding> binding,
               const CallMemory &memory, Stream recorder);
  ~ProgramGraph();
  ProgramGraph(const ProgramGraph &) = delete;

  const std::shared_ptr<const DeviceBinding> &binding() const { return bound; }

  /// Whether it can be had with these addresses: those of a library's launches stay.
  bool fits(const CallMemory &memory) const;
  /// Gives the recorded launches other addresses if they differ. False if the driver does not
  /// do that, and the graph is of no use any more.
  bool update(const CallMemory &memory);
  void launch(Stream stream) const;

private:
  struct Node {
    size_t step;
    const BoundLaunch *launch;
    GraphNode node;
  };

  void record(Stream recorder);
  bool touches(size_t step, const CallMemory &other) const;

  const DeviceProgram &program;
  std::shared_ptr<const DeviceBinding> bound;
  CallMemory current;
  Graph graph = nullptr;
  GraphExec executable = nullptr;
  std::vector<Node> nodes;
};

/// Runs the program once with these addresses and returns the time of each step, as the device
/// measures it while the steps follow each other without gaps.
std::vector<double> timeSteps(const DeviceProgram &program, const DeviceBinding &binding,
                              const CallMemory &memory, Stream recorder, Stream stream);

} // namespace headrace::cuda
