#include "rewrite/engine/CoarseEngine.h"

#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/accelerator/Mapping.h"
#include "rewrite/engine/Code.h"
#include "rewrite/tensor/TensorFacts.h"
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"
#include "runtime/system/Json.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace headrace::rewrite {

namespace {

/// One kernel, read and checked.
class Kernel {
public:
  explicit Kernel(const DeviceImage &image) {
    try {
      code = fromText(image.text, terms);
      machine = Accelerator::parse(code.machine, "machine of kernel '" + image.name + "'");
      checkInputs();
      results = elementCount(TermShapes(terms, allOperators()).shapeOf(code.term));
    } catch (const JsonFault &fault) {
      throw Error(ErrorKind::InvalidFile,
                  "kernel '" + image.name + "': " + std::string(fault.what()));
    }
  }

  /// Bytes of the step's operands.
  std::vector<DimExpr> operandBytes() const {
    auto bytes = [&](int64_t elements, bool leads) {
      DimExpr size = DimExpr::constant(elements * static_cast<int64_t>(sizeof(float)));
      return leads ? size * code.batch : size;
    };
    std::vector<DimExpr> all;
    for (const CoarseInput &input : code.inputs)
      if (!input.number)
        all.push_back(bytes(elementCount(input.shape), input.leads));
    all.push_back(bytes(results, true));
    return all;
  }

  void run(std::span<float *const> buffers, std::span<const int64_t> symbols) const {
    Inputs inputs;
    for (const CoarseInput &input : code.inputs)
      inputs.emplace(input.name, Array(input.shape));
    int64_t batch = code.batch.evaluate(symbols);
    for (int64_t element = 0; element < batch; ++element) {
      size_t operand = 0;
      for (const CoarseInput &input : code.inputs) {
        Array &array = inputs.find(input.name)->second;
        if (input.number) {
          array.values.assign(array.values.size(), machine.element.bounded(*input.number));
          continue;
        }
        const float *from = buffers[operand++];
        auto count = static_cast<int64_t>(array.values.size());
        if (element == 0 || input.leads)
          std::copy_n(from + (input.leads ? element * count : 0), count, array.values.begin());
      }
      Array result = runOnMachine(terms, code.term, machine, inputs);
      float *to = buffers.back() + element * results;
      for (double value : result.values)
        *to++ = static_cast<float>(value);
    }
  }

private:
  /// The term reads inputs that are there; no operator of it takes anything from elsewhere.
  void checkInputs() const {
    for (TermId id : terms.reachableFrom(code.term)) {
      OperatorCall call = callOf(terms.opOf(id), terms.vocabulary());
      if (terms.vocabulary().text(terms.opOf(id).name) != "tensor")
        continue;
      auto isIt = [&](const CoarseInput &input) {
        return !call.names.empty() && input.name == call.names[0] && input.shape == call.numbers;
      };
      if (std::ranges::none_of(code.inputs, isIt))
        throw JsonFault("the term reads a tensor that is no input");
    }
  }

  Vocabulary vocabulary;
  Terms terms{vocabulary};
  CoarseCode code;
  Accelerator machine;
  int64_t results = 0;
};

using Kernels = std::map<std::string, Kernel, std::less<>>;

class Session final : public EngineSession {
public:
  Session(const Program &program, const Kernels &kernels) : program(program), kernels(kernels) {}

  std::shared_ptr<void> allocate(int64_t bytes, const char *what) override {
    return allocateAligned(static_cast<size_t>(bytes), what);
  }
  void copyIn(void *to, const void *from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void copyOut(void *to, const void *from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void run(size_t index, const EngineCall &call) override {
    const Step &step = program.steps[index];
    std::vector<float *> operands;
    for (int id : step.operands)
      operands.push_back(static_cast<float *>(call.buffers[static_cast<size_t>(id)]));
    kernels.find(step.symbol)->second.run(operands, call.binding.symbols);
  }
  void finish(const EngineCall &) override {}

private:
  const Program &program;
  const Kernels &kernels;
};

class LoadedProgram final : public EngineProgram {
public:
  LoadedProgram(const Program &program, const ProgramCode &code) : program(program) {
    for (const DeviceImage &image : code.images)
      kernels.try_emplace(image.name, image);
    for (const Step &step : program.steps) {
      if (step.kind != Step::Kind::Kernel || step.engine != coarseEngine().name())
        continue;
      auto kernel = kernels.find(step.symbol);
      std::vector<DimExpr> bytes;
      for (int id : step.operands)
        bytes.push_back(program.buffers[static_cast<size_t>(id)].bytes);
      if (kernel == kernels.end() || kernel->second.operandBytes() != bytes)
        failUnsound(program, "step '" + step.name + "' does not fit its kernel");
    }
  }
  std::unique_ptr<EngineSession> begin() const override {
    return std::make_unique<Session>(program, kernels);
  }

private:
  const Program &program;
  Kernels kernels;
};

class CoarseEngine final : public Engine {
public:
  std::string_view name() const override { return "coarse"; }
  std::string whyNot(const ProcessorNeeds &) const override { return ""; }
  std::unique_ptr<const EngineProgram> load(const Program &program,
                                            const ProgramCode &code) const override {
    return std::make_unique<LoadedProgram>(program, code);
  }
};

} // namespace

const Engine &coarseEngine() {
  static const CoarseEngine engine;
  return engine;
}

} // namespace headrace::rewrite
