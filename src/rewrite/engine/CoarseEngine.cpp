#include "rewrite/engine/CoarseEngine.h"

#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/accelerator/Mapping.h"
#include "rewrite/engine/Code.h"
#include "rewrite/tensor/TensorFacts.h"
#include "runtime/program/InterpretedEngine.h"
#include "runtime/system/Error.h"
#include "runtime/system/Json.h"

#include <algorithm>

namespace headrace::rewrite {

namespace {

class Kernel final : public InterpretedKernel {
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

  std::vector<DimExpr> operandBytes() const override {
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

  void run(const Step &, std::span<void *const> buffers,
           std::span<const int64_t> symbols) const override {
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
        const auto *from = static_cast<const float *>(buffers[operand++]);
        auto count = static_cast<int64_t>(array.values.size());
        if (element == 0 || input.leads)
          std::copy_n(from + (input.leads ? element * count : 0), count, array.values.begin());
      }
      Array result = runOnMachine(terms, code.term, machine, inputs);
      float *to = static_cast<float *>(buffers.back()) + element * results;
      for (double value : result.values)
        *to++ = static_cast<float>(value);
    }
  }

private:
  /// Checks that the term reads only inputs that exist, and that no operator of it reads anything
  /// else.
  void checkInputs() const {
    for (TermId id : terms.reachableFrom(code.term)) {
      OperatorCall call = callOf(terms.opOf(id), terms.vocabulary());
      if (terms.vocabulary().text(terms.opOf(id).name) != "tensor")
        continue;
      auto isIt = [&](const CoarseInput &input) {
        return !call.names.empty() && input.name == call.names[0] && input.shape == call.numbers;
      };
      if (std::ranges::none_of(code.inputs, isIt))
        throw JsonFault("the term reads a tensor that is not an input");
    }
  }

  Vocabulary vocabulary;
  Terms terms{vocabulary};
  CoarseCode code;
  Accelerator machine;
  int64_t results = 0;
};

std::unique_ptr<const InterpretedKernel> read(const DeviceImage &image) {
  return std::make_unique<Kernel>(image);
}

} // namespace

const Engine &coarseEngine() {
  static const InterpretedEngine engine("coarse", read);
  return engine;
}

} // namespace headrace::rewrite
