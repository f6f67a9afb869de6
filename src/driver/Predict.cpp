// Where an operand is found depends on what the program touched since its last use: the sum of
// those bytes is the working set that a cache must hold for it to be there still.
#include "driver/Predict.h"

#include "analysis/cost/LeastMovement.h"
#include "runtime/program/Binding.h"

#include <cmath>
#include <set>

using namespace mlir;

namespace headrace {
namespace {

/// The target whose engine runs the step.
const Target &targetOf(const Step &step, const Targets &targets) {
  return step.engine == targets.wanted.engine() ? targets.wanted : targets.fallback;
}

class Predictor {
public:
  Predictor(const Program &program, ArrayRef<StepWork> works, const Targets &targets,
            ArrayRef<int64_t> symbols, int threads)
      : program(program), works(works), targets(targets), symbols(symbols), threads(threads),
        plan(planTemporaries(program, {symbols.data(), symbols.size()})),
        lastUse(program.buffers.size(), 0), footprint(static_cast<double>(plan.totalBytes)),
        arena(plan.totalBytes / kPage + 1, 0) {
    for (const BufferInfo &buffer : program.buffers)
      if (buffer.kind != BufferInfo::Kind::Temporary)
        footprint += valueOf(buffer.bytes);
  }

  std::vector<StepPrediction> run() {
    // The first call leaves data where the next one finds it.
    for (const Step &step : program.steps)
      (void)firstAccesses(step);
    std::vector<StepPrediction> predictions;
    for (auto [step, own] : llvm::zip_equal(program.steps, works))
      predictions.push_back(predict(step, own));
    return predictions;
  }

private:
  StepPrediction predict(const Step &step, const StepWork &own) {
    std::vector<Work::Stream> streams = firstAccesses(step);
    if (step.kind == Step::Kind::Transfer)
      return whole({.microseconds =
                        targets.wanted.machine().copies.microseconds(valueOf(step.cost.bytesRead)),
                    .memory = 1});
    if (own.countedMicroseconds)
      return whole({.microseconds = *own.countedMicroseconds, .arithmetic = 1});
    Work work = own.work;
    double compulsory = 0;
    for (const Work::Stream &stream : streams)
      compulsory += stream.bytes;
    work.streams.insert(work.streams.end(), streams.begin(), streams.end());
    const Machine &machine = targetOf(step, targets).machine();
    const Rates &rates = machine.rates;
    // A device runs a step on all that it has.
    int units = step.engine == hostEngine ? threads : rates.threads;
    StepPrediction result{machine.cost->estimate(work, units), {}, streams};
    for (double cache : {rates.nearCacheBytes, rates.coreCacheBytes})
      result.least.push_back({cache, leastBytes(work, compulsory, cache)});
    addLosses(result, std::move(work), *machine.cost, units);
    return result;
  }

  /// A step of which no less is known than its time.
  static StepPrediction whole(const Estimate &estimate) {
    return {.estimate = estimate, .least = {}, .leastMicroseconds = estimate.microseconds};
  }

  /// Takes away one cause of lost time after the other, until the least time is left.
  static void addLosses(StepPrediction &step, Work work, const CostModel &model, int units) {
    double before = step.estimate.microseconds;
    auto next = [&](const char *cause, double microseconds) {
      if (before > microseconds)
        step.losses.emplace_back(cause, before - microseconds);
      before = std::min(before, microseconds);
    };
    work.parts = std::ceil(std::max(work.parts, 1.0) / units) * units;
    next("parts that do not divide among the threads", model.microseconds(work, units));
    for (Work::Arithmetic &part : work.arithmetic)
      part.efficiency = 1;
    next("arithmetic below full speed", model.microseconds(work, units));
    llvm::erase_if(work.streams, [](const Work::Stream &stream) { return stream.operand < 0; });
    next("data that is read again", model.microseconds(work, units));
    Work moving = work, computing = work;
    moving.arithmetic.clear();
    computing.streams.clear();
    step.leastMicroseconds = std::min(
        before, std::max(model.microseconds(moving, units), model.microseconds(computing, units)));
    next("arithmetic that waits for data", step.leastMicroseconds);
  }

  double valueOf(const DimExpr &size) const {
    return static_cast<double>(size.evaluate({symbols.data(), symbols.size()}));
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
      double workingSet = std::min(touchedSince(buffer, bytes) + bytes, footprint);
      streams.push_back({bytes, workingSet, static_cast<int>(i)});
      all += bytes;
    }
    // Views and gathers touch a part of an operand: of the largest one.
    double touched = valueOf(step.cost.bytesRead) + valueOf(step.cost.bytesWritten);
    if (touched > 0 && touched < all)
      keepTouched(streams, touched);
    for (Work::Stream &stream : streams)
      stream.workingSet = std::max(stream.workingSet, std::min(touched > 0 ? touched : all, all));
    clock += touched > 0 ? std::min(touched, all) : all;
    for (int buffer : step.operands)
      use(buffer);
    return streams;
  }

  /// Makes streams as small as they are together, the largest first.
  static void keepTouched(std::vector<Work::Stream> &streams, double touched) {
    double all = 0;
    for (const Work::Stream &stream : streams)
      all += stream.bytes;
    std::vector<Work::Stream *> bySize;
    for (Work::Stream &stream : streams)
      bySize.push_back(&stream);
    llvm::stable_sort(bySize, [](auto *a, auto *b) { return a->bytes > b->bytes; });
    for (Work::Stream *stream : bySize) {
      double kept = std::max(0.0, stream->bytes - (all - touched));
      all -= stream->bytes - kept;
      stream->bytes = kept;
    }
  }

  /// Temporaries share memory: what is written may be where another was just read.
  bool isTemporary(int buffer) const {
    return program.buffers[buffer].kind == BufferInfo::Kind::Temporary;
  }
  template <class Visit> void eachPage(int buffer, Visit visit) {
    int64_t begin = plan.offsets[buffer] / kPage;
    auto pages = static_cast<int64_t>(std::ceil(valueOf(program.buffers[buffer].bytes) / kPage));
    for (int64_t page = begin; page < std::min(begin + pages, int64_t(arena.size())); ++page)
      visit(arena[page]);
  }

  double touchedSince(int buffer, double bytes) {
    if (!isTemporary(buffer))
      return clock - lastUse[buffer];
    double sum = 0, pages = 0;
    eachPage(buffer, [&](double &last) {
      sum += clock - last;
      pages += 1;
    });
    return pages > 0 ? sum / pages : bytes;
  }
  void use(int buffer) {
    lastUse[buffer] = clock;
    if (isTemporary(buffer))
      eachPage(buffer, [&](double &last) { last = clock; });
  }

  const Program &program;
  ArrayRef<StepWork> works;
  const Targets &targets;
  ArrayRef<int64_t> symbols;
  int threads; // of the host
  static constexpr int64_t kPage = 16 << 10;
  MemoryPlan plan;
  double clock = 0;            // bytes touched so far
  std::vector<double> lastUse; // when buffers were touched
  double footprint;            // all memory of the program
  std::vector<double> arena;   // when pages of temporaries were touched
};

} // namespace

KernelPrediction StepPrediction::report() const {
  return {estimate.microseconds,
          {{"memory", estimate.memory},
           {"cache", estimate.cache},
           {"arithmetic", estimate.arithmetic},
           {"calls", estimate.calls}},
          least,
          leastMicroseconds,
          losses};
}

std::vector<StepWork> workOfSteps(const Program &program, ModuleOp kernels, const Targets &targets,
                                  ArrayRef<int64_t> symbols) {
  SymbolTable modules(kernels);
  std::vector<StepWork> works;
  for (const Step &step : program.steps) {
    StepWork &own = works.emplace_back();
    const Target &target = targetOf(step, targets);
    auto valueOf = [&](const DimExpr &size) {
      return size.evaluate({symbols.data(), symbols.size()});
    };
    auto operations = static_cast<double>(valueOf(step.cost.operations));
    if (step.kind == Step::Kind::Kernel) {
      auto kernel = modules.lookup<ModuleOp>(step.symbol);
      own.countedMicroseconds = target.countedMicroseconds(kernel);
      if (!own.countedMicroseconds)
        own.work = target.workOf(kernel, symbols, operations);
    } else if (step.kind == Step::Kind::Library) {
      SmallVector<int64_t> parameters;
      for (const DimExpr &parameter : step.parameters)
        parameters.push_back(valueOf(parameter));
      own.work = target.workOfCall(
          {step.symbol, parameters, program.buffers[step.operands.front()].dtype, operations});
    }
  }
  return works;
}

std::vector<StepPrediction> predictSteps(const Program &program, ArrayRef<StepWork> works,
                                         const Targets &targets, ArrayRef<int64_t> symbols,
                                         int threads) {
  return Predictor(program, works, targets, symbols, threads).run();
}

std::vector<StepPrediction> predictSteps(const Program &program, ModuleOp kernels,
                                         const Targets &targets, ArrayRef<int64_t> symbols,
                                         int threads) {
  return predictSteps(program, workOfSteps(program, kernels, targets, symbols), targets, symbols,
                      threads);
}

} // namespace headrace
