#include "runtime/Program.h"

#include "runtime/Error.h"

#include <algorithm>

namespace headrace {

namespace {

/// What is wrong, on its way to programFault.
struct Fault {
  std::string what;
};

class Verifier {
public:
  explicit Verifier(const Program &program) : program(program) {}

  void verify() const {
    verifySymbols();
    std::vector<int> outputBuffers(program.outputs.size());
    for (size_t id = 0; id < program.buffers.size(); ++id) {
      const BufferInfo &buffer = program.buffers[id];
      verifyBuffer(buffer, "buffer " + std::to_string(id));
      if (buffer.kind == BufferInfo::Kind::Output)
        ++outputBuffers[static_cast<size_t>(buffer.index)];
    }
    for (size_t i = 0; i < outputBuffers.size(); ++i)
      require(outputBuffers[i] == 1, "output '" + program.outputs[i].name + "' has " +
                                         std::to_string(outputBuffers[i]) + " buffers");
    for (size_t i = 0; i < program.steps.size(); ++i)
      verifyStep(program.steps[i], static_cast<int>(i));
  }

private:
  static void require(bool holds, const std::string &what) {
    if (!holds)
      throw Fault{what};
  }

  void verifySymbols() const {
    std::vector<bool> bound(program.symbols.size());
    for (const TensorSpec &input : program.inputs)
      for (const DimExpr &dim : input.dims)
        if (std::optional<unsigned> symbol = dim.asSymbol()) {
          require(*symbol < bound.size(), "input '" + input.name + "' uses an unknown symbol");
          bound[*symbol] = true;
        }
    for (size_t i = 0; i < bound.size(); ++i)
      require(bound[i], "no input determines symbol '" + program.symbols[i].name + "'");
  }

  void verifyBuffer(const BufferInfo &buffer, const std::string &name) const {
    size_t limit = 0;
    switch (buffer.kind) {
    case BufferInfo::Kind::Input:
      limit = program.inputs.size();
      break;
    case BufferInfo::Kind::Output:
      limit = program.outputs.size();
      break;
    case BufferInfo::Kind::Constant:
      limit = program.constants.size();
      break;
    case BufferInfo::Kind::Temporary:
      require(buffer.firstStep >= 0 && buffer.firstStep <= buffer.lastStep &&
                  buffer.lastStep < static_cast<int>(program.steps.size()),
              name + " has a lifetime outside the steps");
      return;
    }
    require(buffer.index >= 0 && static_cast<size_t>(buffer.index) < limit,
            name + " has index " + std::to_string(buffer.index) + " of " + std::to_string(limit));
  }

  void verifyStep(const Step &step, int position) const {
    require(step.workspaceBytes >= 0, "step '" + step.name + "' has a negative workspace");
    for (int id : step.operands) {
      require(id >= 0 && static_cast<size_t>(id) < program.buffers.size(),
              "step '" + step.name + "' uses buffer " + std::to_string(id) + " of " +
                  std::to_string(program.buffers.size()));
      const BufferInfo &buffer = program.buffers[static_cast<size_t>(id)];
      require(buffer.kind != BufferInfo::Kind::Temporary ||
                  (buffer.firstStep <= position && position <= buffer.lastStep),
              "step '" + step.name + "' uses buffer " + std::to_string(id) +
                  " outside its lifetime");
    }
    for (const Launch &launch : step.launches)
      verifyLaunch(launch, step);
  }

  static void verifyLaunch(const Launch &launch, const Step &step) {
    auto holds = [&](bool condition, const char *what) {
      require(condition, "step '" + step.name + "': launch of '" + launch.function + "' " + what);
    };
    constexpr int mostThreads = 1024;
    for (int threads : launch.block)
      holds(threads > 0 && threads <= mostThreads, "has a block of no size that devices have");
    holds(launch.sharedBytes >= 0, "has negative shared memory");
    for (const LaunchParameter &parameter : launch.parameters) {
      bool isOperand =
          parameter.kind == LaunchParameter::Kind::Buffer ||
          (parameter.kind == LaunchParameter::Kind::TensorMap && parameter.index != -1);
      holds(!isOperand || (parameter.index >= 0 &&
                           static_cast<size_t>(parameter.index) < step.operands.size()),
            "takes an operand that the step lacks");
      constexpr size_t mostDims = 5;
      const LaunchParameter::Tile &tile = parameter.tile;
      holds(parameter.kind != LaunchParameter::Kind::TensorMap ||
                (!tile.dims.empty() && tile.dims.size() <= mostDims &&
                 tile.dims.size() == tile.box.size()),
            "describes no matrix");
    }
  }

  const Program &program;
};

} // namespace

std::string programFault(const Program &program) {
  try {
    Verifier(program).verify();
  } catch (const Fault &fault) {
    return fault.what;
  }
  return "";
}

void verifyProgram(const Program &program) {
  if (std::string fault = programFault(program); !fault.empty())
    throw InternalError("program '" + program.name + "': " + fault);
}

} // namespace headrace
