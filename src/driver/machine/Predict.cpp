// Where an operand is found depends on what the program touched since its last use: the sum of
// those bytes is the working set that a cache must hold for it to be there still.
#include "driver/machine/Predict.h"

#include "analysis/OperatorWork.h"

#include <set>

using namespace mlir;

namespace headrace {
namespace {

class Predictor {
public:
  Predictor(const Program &program, ModuleOp kernels, const Target &target,
            ArrayRef<int64_t> symbols, int threads)
      : program(program), kernels(kernels), target(target), symbols(symbols), threads(threads),
        lastUse(program.buffers.size(), 0) {}

  std::vector<double> run() {
    // The first call leaves data where the next one finds it.
    for (const Step &step : program.steps)
      (void)firstAccesses(step);
    std::vector<double> microseconds;
    for (const Step &step : program.steps) {
      Work work = step.kind == Step::Kind::Kernel ? ofKernel(step) : ofLibrary(step);
      std::vector<Work::Stream> streams = firstAccesses(step);
      work.streams.insert(work.streams.end(), streams.begin(), streams.end());
      microseconds.push_back(target.costModel().microseconds(work, threads));
    }
    return microseconds;
  }

private:
  double valueOf(const DimExpr &size) const {
    return static_cast<double>(size.evaluate({symbols.data(), symbols.size()}));
  }

  Work ofKernel(const Step &step) {
    return target.workOf(kernels.lookupSymbol<ModuleOp>(step.symbol), symbols,
                         valueOf(step.cost.operations));
  }

  /// A product is as large as its parameters say; any other routine moves data.
  Work ofLibrary(const Step &step) const {
    Work work;
    double operations = valueOf(step.cost.operations);
    work.kernelCalls = 0;
    work.libraryCalls = 1;
    work.parts = std::max(1.0, operations / 1e6);
    if (step.symbol.ends_with("gemm") && step.parameters.size() >= 4) {
      double rows = valueOf(step.parameters[1]), columns = valueOf(step.parameters[2]),
             depth = valueOf(step.parameters[3]);
      work.librarySide = 3 / (1 / rows + 1 / columns + 1 / depth);
    } else {
      work.librarySide = 128;
    }
    if (operations > 0)
      work.arithmetic.push_back(
          {OperationKind::Product, program.buffers[step.operands.front()].dtype, operations});
    return work;
  }

  /// Reads and writes of the step's operands, each found among what was touched since its last use.
  std::vector<Work::Stream> firstAccesses(const Step &step) {
    std::vector<Work::Stream> streams;
    std::set<int> seen;
    double all = 0;
    for (auto [i, buffer] : llvm::enumerate(step.operands)) {
      if (!seen.insert(buffer).second)
        continue;
      double bytes = valueOf(program.buffers[buffer].bytes);
      streams.push_back({bytes, clock - lastUse[buffer] + bytes, static_cast<int>(i)});
      all += bytes;
    }
    // Views and gathers touch a part of an operand.
    double touched = valueOf(step.cost.bytesRead) + valueOf(step.cost.bytesWritten);
    double part = all > 0 && touched > 0 ? std::min(1.0, touched / all) : 1;
    for (Work::Stream &stream : streams) {
      stream.bytes *= part;
      stream.workingSet = std::max(stream.workingSet, part * all);
    }
    clock += part * all;
    for (int buffer : step.operands)
      lastUse[buffer] = clock;
    return streams;
  }

  const Program &program;
  ModuleOp kernels;
  const Target &target;
  ArrayRef<int64_t> symbols;
  int threads;
  double clock = 0; // bytes touched so far
  std::vector<double> lastUse;
};

} // namespace

std::vector<double> predictSteps(const Program &program, ModuleOp kernels, const Target &target,
                                 ArrayRef<int64_t> symbols, int threads) {
  return Predictor(program, kernels, target, symbols, threads).run();
}

} // namespace headrace
