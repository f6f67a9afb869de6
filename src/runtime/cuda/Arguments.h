// Launches with the sizes of one binding, and the arguments of their functions.
#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/program/Program.h"

#include <span>

namespace headrace::cuda {

/// A launch with its sizes known.
struct BoundLaunch {
  const Launch *launch = nullptr;
  Function function = nullptr;
  std::array<unsigned, 3> grid = {0, 0, 0};
  /// For each parameter its value, or an offset into the workspace.
  std::vector<int64_t> sizes;
  /// For each parameter that describes a matrix its dimensions, innermost first; empty for others.
  std::vector<std::vector<uint64_t>> dims;

  bool isEmpty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};

/// Throws Error if the grid is larger than devices allow.
BoundLaunch bindLaunch(const Launch &launch, Function function, const std::string &step,
                       std::span<const int64_t> symbols);

/// The arguments of one launch at a time, in the form the driver takes.
class Arguments {
public:
  /// `operands` are the addresses of the step's operands. Valid until the next call.
  void **fill(const BoundLaunch &bound, std::span<const Address> operands, Address workspace);

private:
  std::vector<uint64_t> words;
  std::vector<TensorMap> maps;
  std::vector<void *> pointers;
};

} // namespace headrace::cuda
