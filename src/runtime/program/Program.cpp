#include "runtime/program/Program.h"

#include "runtime/program/BindInputs.h"
#include "runtime/program/Library.h"
#include "runtime/system/Error.h"

namespace headrace {

namespace {

/// A fault on its way to programFault.
struct Fault {
  std::string what;
};

void require(bool holds, const std::string &what) {
  if (!holds)
    throw Fault{what};
}

bool isNegative(const DimExpr &expr) { return expr.asConstant().value_or(0) < 0; }

class InterfaceVerifier {
public:
  explicit InterfaceVerifier(const Program &program) : program(program) {}

  void verify() const {
    verifySymbols();
    for (const TensorSpec &input : program.inputs)
      verifySizes(input, "input");
    for (const TensorSpec &output : program.outputs)
      verifySizes(output, "output");
  }

private:
  void verifySymbols() const {
    std::vector<bool> bound(program.symbols.size());
    for (const TensorSpec &input : program.inputs)
      for (const DimExpr &dim : input.dims)
        if (std::optional<DecidedSymbol> decided = decidedBy(dim)) {
          require(decided->symbol < bound.size(),
                  "input '" + input.name + "' uses an unknown symbol");
          bound[decided->symbol] = true;
        }
    for (size_t i = 0; i < bound.size(); ++i) {
      const Symbol &symbol = program.symbols[i];
      require(bound[i], "no input determines symbol '" + symbol.name + "'");
      require(symbol.min >= 0 && symbol.min <= symbol.max,
              "symbol '" + symbol.name + "' is for sizes from " + std::to_string(symbol.min) +
                  " to " + std::to_string(symbol.max));
    }
  }

  static void verifySizes(const TensorSpec &spec, const char *what) {
    for (const DimExpr &dim : spec.dims)
      require(!isNegative(dim), std::string(what) + " '" + spec.name + "' has a negative size");
  }

  const Program &program;
};

class Verifier {
public:
  explicit Verifier(const Program &program) : program(program) {}

  void verify() const {
    InterfaceVerifier(program).verify();
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
    std::vector<bool> used(program.buffers.size());
    for (size_t i = 0; i < program.steps.size(); ++i) {
      verifyStep(program.steps[i], static_cast<int>(i));
      for (int id : program.steps[i].operands)
        used[static_cast<size_t>(id)] = true;
    }
    for (size_t id = 0; id < used.size(); ++id)
      if (const BufferInfo &buffer = program.buffers[id]; buffer.kind == BufferInfo::Kind::Output)
        require(used[id], "no step writes output '" +
                              program.outputs[static_cast<size_t>(buffer.index)].name + "'");
  }

private:
  void verifyBuffer(const BufferInfo &buffer, const std::string &name) const {
    require(!isNegative(buffer.bytes), name + " has a negative size");
    auto isOneOf = [&](size_t limit) {
      require(buffer.index >= 0 && static_cast<size_t>(buffer.index) < limit,
              name + " has index " + std::to_string(buffer.index) + " of " + std::to_string(limit));
    };
    switch (buffer.kind) {
    case BufferInfo::Kind::Input:
      return isOneOf(program.inputs.size());
    case BufferInfo::Kind::Output:
      return isOneOf(program.outputs.size());
    case BufferInfo::Kind::Constant:
      return isOneOf(program.constants.size());
    case BufferInfo::Kind::Temporary:
      require(buffer.firstStep >= 0 && buffer.firstStep <= buffer.lastStep &&
                  buffer.lastStep < static_cast<int>(program.steps.size()),
              name + " has a lifetime outside the steps");
    }
  }

  void verifyStep(const Step &step, int position) const {
    std::string name = "step '" + step.name + "'";
    require(step.workspaceBytes >= 0 && !isNegative(step.deviceWorkspaceBytes),
            name + " has a negative workspace");
    require(!step.operands.empty(), name + " has no operands");
    for (int id : step.operands) {
      require(id >= 0 && static_cast<size_t>(id) < program.buffers.size(),
              name + " uses buffer " + std::to_string(id) + " of " +
                  std::to_string(program.buffers.size()));
      const BufferInfo &buffer = program.buffers[static_cast<size_t>(id)];
      require(buffer.kind != BufferInfo::Kind::Temporary ||
                  (buffer.firstStep <= position && position <= buffer.lastStep),
              name + " uses buffer " + std::to_string(id) + " outside its lifetime");
    }
    verifyPlaces(step, name);
    std::optional<LibraryShape> shape;
    if (step.kind == Step::Kind::Library)
      shape = libraryShape(step.symbol);
    const BufferInfo &last = program.buffers[static_cast<size_t>(step.operands.back())];
    require((shape && !shape->writes) || last.kind == BufferInfo::Kind::Output ||
                last.kind == BufferInfo::Kind::Temporary,
            name + " writes to a read-only buffer");
    if (shape)
      require(shape->fits(step), name + " calls '" + step.symbol + "' with " +
                                     std::to_string(step.operands.size()) + " operands and " +
                                     std::to_string(step.parameters.size()) +
                                     " parameters, which takes " + std::to_string(shape->operands) +
                                     " and " + std::to_string(shape->parameters));
    for (const Launch &launch : step.launches)
      verifyLaunch(launch, step);
  }

  void verifyPlaces(const Step &step, const std::string &name) const {
    auto engineOf = [&](int id) -> const std::string & {
      return program.buffers[static_cast<size_t>(id)].engine;
    };
    if (step.kind != Step::Kind::Transfer) {
      for (int id : step.operands)
        require(engineOf(id) == step.engine, name + " runs on '" + step.engine +
                                                 "' and uses buffer " + std::to_string(id) +
                                                 ", which is stored on '" + engineOf(id) + "'");
      return;
    }
    require(step.operands.size() == 2 && step.parameters.size() == 1,
            name + " is not a transfer from one buffer to another");
    const std::string &from = engineOf(step.operands[0]), &to = engineOf(step.operands[1]);
    require(step.engine != hostEngine && ((from == hostEngine && to == step.engine) ||
                                          (from == step.engine && to == hostEngine)),
            name + " is a transfer of '" + step.engine + "' from '" + from + "' to '" + to + "'");
  }

  static void verifyLaunch(const Launch &launch, const Step &step) {
    auto holds = [&](bool condition, const char *what) {
      require(condition, "step '" + step.name + "': launch of '" + launch.function + "' " + what);
    };
    constexpr int maxThreads = 1024;
    for (int threads : launch.block)
      holds(threads > 0 && threads <= maxThreads, "has a block of no size that devices have");
    for (const DimExpr &blocks : launch.grid)
      holds(!isNegative(blocks), "has a negative grid");
    holds(launch.sharedBytes >= 0, "has negative shared memory");
    for (const LaunchParameter &parameter : launch.parameters) {
      bool isOperand =
          parameter.kind == LaunchParameter::Kind::Buffer ||
          (parameter.kind == LaunchParameter::Kind::TensorMap && parameter.index != -1);
      holds(!isOperand || (parameter.index >= 0 &&
                           static_cast<size_t>(parameter.index) < step.operands.size()),
            "takes an operand that the step lacks");
      constexpr size_t maxDims = 5;
      const LaunchParameter::Tile &tile = parameter.tile;
      holds(parameter.kind != LaunchParameter::Kind::TensorMap ||
                (!tile.dims.empty() && tile.dims.size() <= maxDims &&
                 tile.dims.size() == tile.box.size()),
            "describes no matrix");
    }
  }

  const Program &program;
};

template <class AnyVerifier> std::string faultFoundBy(const AnyVerifier &verifier) {
  try {
    verifier.verify();
  } catch (const Fault &fault) {
    return fault.what;
  }
  return "";
}

} // namespace

std::string interfaceFault(const Program &program) {
  return faultFoundBy(InterfaceVerifier(program));
}

std::optional<std::string> soleEngine(const Program &program) {
  std::optional<std::string> sole;
  for (const Step &step : program.steps) {
    if (step.kind == Step::Kind::Transfer || (sole && *sole != step.engine))
      return std::nullopt;
    sole = step.engine;
  }
  return sole.value_or(hostEngine);
}

std::string programFault(const Program &program) { return faultFoundBy(Verifier(program)); }

void failUnsound(const Program &program, const std::string &what) {
  std::string fault = "program '" + program.name + "': " + what;
  if (program.origin.empty())
    throw InternalError(fault);
  throw Error(ErrorKind::InvalidFile, program.origin + ": the package is damaged: " + fault);
}

void verifyProgram(const Program &program) {
  if (std::string fault = programFault(program); !fault.empty())
    failUnsound(program, fault);
}

} // namespace headrace
