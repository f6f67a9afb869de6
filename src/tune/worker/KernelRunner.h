// Runs a kernel out of a package: on random inputs, compared with another package of the same
// kernel, and timed in turns with it. Needs the runtime alone.
#pragma once

#include "package/Package.h"

#include <filesystem>
#include <string>

namespace headrace::tune {

/// A kernel that is ready to run on its inputs.
class LoadedKernel {
public:
  /// Throws Error if the file is not a package of one program.
  explicit LoadedKernel(const std::filesystem::path &package);
  /// Takes the inputs of another one; throws Error if they do not fit.
  void takeInputs(const LoadedKernel &other);
  /// Random values from a seed; integers are 0 or 1, which every table has rows for.
  void makeInputs(uint64_t seed);
  void run();
  const std::vector<Tensor> &outputs() const { return results; }
  /// Microseconds of a call, the mean over so many.
  double time(int calls);

private:
  std::shared_ptr<const Package> package;
  std::shared_ptr<const Executable> executable;
  std::vector<Tensor> inputs, results;
};

/// Which output differs by more than rounding may, and where; empty if none does.
std::string differenceBetween(std::span<const Tensor> found, std::span<const Tensor> expected);

/// The medians of turns with data in cache, and of calls after the caches were emptied.
struct Turns {
  double warm = 0, warmOther = 0, cold = 0, coldOther = 0;
};

/// Times two kernels in turns, for about so many seconds. A kernel that takes several times as long
/// as the other has few turns.
Turns timeInTurns(LoadedKernel &kernel, LoadedKernel &other, double seconds);

} // namespace headrace::tune
