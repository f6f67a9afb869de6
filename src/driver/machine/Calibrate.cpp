// Rates are what generated code reaches, so they are measured with programs of the compiler's own:
// each has one kernel that does one kind of work, in a working set of a known size.
#include "driver/machine/Calibrate.h"

#include "driver/machine/FirstCalibration.h"
#include "driver/programs/GraphModel.h"
#include "runtime/program/Library.h"
#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/ThreadPool.h"
#include "target/Target.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>

namespace headrace {

namespace {

using graph::GraphBuilder;
using graph::Node;

/// How much is measured, and for how long.
struct Effort {
  /// Everything is measured several times, some seconds apart, and the best of it counts: others
  /// may use the machine for a while.
  int rounds;
  double secondsEach;
  std::vector<double> kilobytes; // that are moved, at most half of them read
  std::vector<int64_t> librarySides;
  /// Doubles, too, and all threads; else both are as many times faster or slower as in the rates
  /// that are in use.
  bool everything;
};

Effort thorough() {
  return {3,
          0.02,
          {16, 128, 1024, 4096, 16384, 65536, 262144},
          {24, 48, 96, 192},
          /*everything=*/true};
}

/// A tenth of a second of measurements, and about as much of compiling.
Effort quick() { return {1, 0.003, {32, 512, 8192, 65536}, {24, 192}, /*everything=*/false}; }

Tensor filled(DType type, std::vector<int64_t> shape) {
  Tensor tensor = Tensor::allocate(type, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    double value = 0.5 + 0.001 * static_cast<double>(i % 512);
    if (type == DType::F64)
      tensor.as<double>()[i] = value;
    else
      tensor.as<float>()[i] = static_cast<float>(value);
  }
  return tensor;
}

class Calibration {
public:
  Calibration(const Settings &settings, Effort effort,
              const std::function<void(const std::string &)> &progress)
      : settings(settings), effort(std::move(effort)), progress(progress) {}

  Rates run() {
    if (settings.target != hostTarget)
      throw Error(ErrorKind::InvalidArgument, std::string("expected the target ") + hostTarget +
                                                  ", which is measured here, got '" +
                                                  settings.target + "'");
    Rates best = measure(1);
    for (int round = 2; round <= effort.rounds; ++round)
      best = betterOf(std::move(best), measure(round));
    roundAll(best);
    return best;
  }

private:
  struct Trial {
    std::shared_ptr<Model> model;
    std::vector<Tensor> inputs;
  };

  Rates measure(int number) {
    round = number;
    rates = findTarget(settings.target).machine().rates;
    const Rates before = rates;
    rates.measured = true;
    report("calls");
    rates.kernelCall = std::max(0.02, timeOf(elementwise("neg", DType::F32, 16), one));
    report("memory");
    rates.memory.clear();
    for (double kilobytes : effort.kilobytes)
      measureBandwidth(kilobytes * 1024, before);
    if (effort.everything && rates.threads > 1)
      measureSharing();
    measureSpeeds(DType::F32, rates.f32);
    if (effort.everything)
      measureSpeeds(DType::F64, rates.f64);
    else
      for (size_t i = 0; i < operationKinds; ++i)
        rates.f64[i] = before.f64[i] * rates.f32[i] / before.f32[i];
    // Computed in single, except for products of pairs.
    rates.narrow = rates.f32;
    constexpr auto product = static_cast<size_t>(OperationKind::Product);
    rates.narrow[product] *= before.narrow[product] / before.f32[product];
    if (libraryAvailable("openblas")) {
      measureLibrary(DType::F32, rates.libraryF32);
      if (effort.everything)
        measureLibrary(DType::F64, rates.libraryF64);
      else
        for (Rates::LibrarySpeed &point : rates.libraryF64)
          point.speed *= rates.libraryOperationsPerMicrosecond(DType::F32, point.side) /
                         before.libraryOperationsPerMicrosecond(DType::F32, point.side);
    }
    return rates;
  }

  static Rates betterOf(Rates a, const Rates &b) {
    for (size_t i = 0; i < a.memory.size(); ++i) {
      a.memory[i].ofOneThread = std::max(a.memory[i].ofOneThread, b.memory[i].ofOneThread);
      a.memory[i].ofAllThreads = std::max(a.memory[i].ofAllThreads, b.memory[i].ofAllThreads);
    }
    for (auto speeds : {&Rates::f32, &Rates::f64, &Rates::narrow})
      for (size_t i = 0; i < operationKinds; ++i)
        (a.*speeds)[i] = std::max((a.*speeds)[i], (b.*speeds)[i]);
    for (auto library : {&Rates::libraryF32, &Rates::libraryF64})
      for (size_t i = 0; i < (a.*library).size(); ++i)
        (a.*library)[i].speed = std::max((a.*library)[i].speed, (b.*library)[i].speed);
    for (auto call : {&Rates::kernelCall, &Rates::sharing, &Rates::libraryCall})
      a.*call = std::min(a.*call, b.*call);
    return a;
  }

  void report(const std::string &what) const {
    pollInterruption();
    if (progress)
      progress(what + ", round " + std::to_string(round) + " of " + std::to_string(effort.rounds));
  }

  /// Builds a program of one input, or takes it from an earlier round.
  template <class Build>
  const Trial &trial(const std::string &name, DType type, std::vector<int64_t> shape, Build build,
                     const std::string &expansion = "generated") {
    std::string key = name + " " + std::string(nameOf(type)) + " " + shapeString(shape);
    if (auto known = trials.find(key); known != trials.end())
      return known->second;
    Settings own = settings;
    own.expansion = expansion;
    std::unique_ptr<GraphBuilder> builder = makeGraphBuilder(name, own);
    graph::Sizes sizes(shape.begin(), shape.end());
    Node input = builder->input("x", type, sizes);
    builder->output("y", build(*builder, input));
    return trials[key] = {makeModel(*builder, own), {filled(type, std::move(shape))}};
  }

  const Trial &elementwise(const std::string &function, DType type, int64_t elements) {
    return trial(function, type, {elements},
                 [&](GraphBuilder &b, Node x) { return b.elementwise(function, {x}); });
  }

  /// The least time of the longest step over some calls: others may use the machine meanwhile.
  double timeOf(const Trial &trial, ThreadPool &pool) const {
    std::shared_ptr<const Executable> executable = trial.model->compile(trial.inputs);
    double least = std::numeric_limits<double>::infinity();
    auto begin = std::chrono::steady_clock::now();
    int calls = 0;
    for (double seconds = 0; seconds < effort.secondsEach || calls < 3; ++calls) {
      pollInterruption();
      std::vector<double> steps;
      (void)executable->run(trial.inputs, pool, &steps);
      least = std::min(least, *std::ranges::max_element(steps));
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return least;
  }

  double netTimeOf(const Trial &trial) {
    return std::max(timeOf(trial, one) - rates.kernelCall, 1e-3);
  }

  /// Half of it is read, half is written.
  void measureBandwidth(double bytes, const Rates &before) {
    const Trial &copy = elementwise("neg", DType::F32, static_cast<int64_t>(bytes / 8));
    double speed = bytes / netTimeOf(copy) / 1e3;
    double sharing =
        before.bytesPerMicrosecond(bytes, rates.threads) / before.bytesPerMicrosecond(bytes);
    double all = rates.threads == 1  ? speed
                 : effort.everything ? bytes / timeOf(copy, ThreadPool::global()) / 1e3
                                     : speed * sharing;
    // Small sets are shared at once, or not at all; large ones by all.
    rates.memory.push_back({bytes, speed, std::max(all, speed)});
  }

  /// The time that waking threads adds: to a kernel that is as fast on one.
  void measureSharing() {
    const Trial &small = elementwise("neg", DType::F32, 1 << 15);
    double alone = timeOf(small, one), together = timeOf(small, ThreadPool::global());
    rates.sharing = std::max(0.1, together - alone / rates.threads);
    // If a set fits into the caches of cores, each goes through its part at its own speed.
    for (Rates::Bandwidth &level : rates.memory)
      if (level.bytes <= rates.coreCacheBytes)
        level.ofAllThreads = level.ofOneThread * rates.threads;
  }

  void measureSpeeds(DType type, Rates::Speeds &speeds) {
    std::string name(nameOf(type));
    report("arithmetic in " + name);
    constexpr int64_t kElements = 4096, kSide = 256, kChannels = 64;
    auto set = [&](OperationKind kind, double operations, double microseconds) {
      speeds[static_cast<size_t>(kind)] = operations / microseconds / 1e3;
    };
    auto each = [&](const std::string &function) {
      return netTimeOf(elementwise(function, type, kElements));
    };
    double copy = each("neg");
    const Trial &product = trial("product", type, {kSide, kSide}, [&](GraphBuilder &b, Node x) {
      return b.matrixProduct(x, b.constant(filled(type, {kSide, kSide})));
    });
    // Without what a tile's ends cost, which is not the same for every product.
    double lanes = static_cast<double>(
        findTarget(settings.target).machine().lanes(static_cast<int64_t>(sizeOf(type))));
    set(OperationKind::Product,
        2.0 * kSide * kSide * kSide /
            RegisterTile{14, 2 * lanes, kSide, lanes,
                         rates.unitBytes / static_cast<double>(sizeOf(type))}
                .efficiency(),
        netTimeOf(product));
    const Trial &window =
        trial("window", type, {1, kChannels, 30, 30}, [&](GraphBuilder &b, Node x) {
          return b.convolution(x, b.constant(filled(type, {kChannels, 1, 3, 3})),
                               {{1, 1}, {1, 1}, {0, 0, 0, 0}}, kChannels);
        });
    set(OperationKind::Window, 2.0 * 9 * kChannels * 28 * 28, netTimeOf(window));
    // A chain long enough that moving the data does not count.
    constexpr int kChain = 16;
    const Trial &chain = trial("chain", type, {kElements}, [&](GraphBuilder &b, Node x) {
      Node y = x;
      for (int i = 0; i < kChain; ++i)
        y = b.elementwise(i % 2 ? "add" : "max", {b.elementwise("abs", {y}), x});
      return y;
    });
    // The larger of two numbers, in every second link, takes three operations.
    set(OperationKind::Simple, (2.0 + 4.0) / 2 * kChain * kElements, netTimeOf(chain));
    const Trial &quotient = trial("division", type, {kElements}, [&](GraphBuilder &b, Node x) {
      return b.elementwise("div", {b.scalar(3, type), x});
    });
    set(OperationKind::Division, kElements, std::max(netTimeOf(quotient) - copy / 2, copy / 4));
    set(OperationKind::Elementary, kElements, std::max(each("exp") - copy / 2, copy / 4));
    // Sums of columns of an odd number, by index: an element at a time.
    constexpr int64_t kPicked = 64;
    Tensor indices = Tensor::allocate(DType::I64, {kPicked});
    for (int64_t i = 0; i < kPicked; ++i)
      indices.as<int64_t>()[i] = i * 7 % kPicked;
    const Trial &gather = trial("gather", type, {kPicked, kPicked}, [&](GraphBuilder &b, Node x) {
      return b.gather(x, b.constant(indices), 1, /*fromEnd=*/false);
    });
    set(OperationKind::Scalar, 2.0 * kPicked * kPicked, netTimeOf(gather));
  }

  void measureLibrary(DType type, std::vector<Rates::LibrarySpeed> &speeds) {
    report("OpenBLAS in " + std::string(nameOf(type)));
    speeds.clear();
    // Products as networks have them, one side shorter; from a size on at which the library is a
    // choice at all.
    std::vector<std::pair<double, double>> times;
    for (int64_t side : effort.librarySides) {
      const Trial &product = trial(
          "library", type, {4 * side, 4 * side},
          [&](GraphBuilder &b, Node x) {
            return b.matrixProduct(x, b.constant(filled(type, {4 * side, side})));
          },
          "openblas");
      times.emplace_back(side, timeOf(product, one));
    }
    auto operations = [](double side) { return 32 * side * side * side; };
    // Of the smallest, what does not grow with it is the call.
    double small = operations(times[0].first), next = operations(times[1].first);
    double slope = (times[1].second - times[0].second) / (next - small);
    if (type == DType::F32)
      rates.libraryCall = std::clamp(times[0].second - slope * small, 0.1, times[0].second);
    for (auto [side, microseconds] : times)
      speeds.push_back(
          {side, operations(side) / std::max(microseconds - rates.libraryCall, 0.05) / 1e3});
  }

  static void roundAll(Rates &rates) {
    for (Rates::Bandwidth &level : rates.memory) {
      level.ofOneThread = rounded(level.ofOneThread);
      level.ofAllThreads = rounded(level.ofAllThreads);
    }
    for (Rates::Speeds *speeds : {&rates.f32, &rates.f64, &rates.narrow})
      for (double &speed : *speeds)
        speed = rounded(speed);
    for (auto *library : {&rates.libraryF32, &rates.libraryF64})
      for (Rates::LibrarySpeed &point : *library)
        point.speed = rounded(point.speed);
    for (double *call : {&rates.kernelCall, &rates.sharing, &rates.libraryCall})
      *call = rounded(*call);
  }

  const Settings &settings;
  const Effort effort;
  const std::function<void(const std::string &)> &progress;
  ThreadPool one{1};
  int round = 1;
  Rates rates; // of this round
  std::map<std::string, Trial> trials;
};

} // namespace

Rates ratesOf(const Settings &settings) { return findTarget(settings.target).machine().rates; }

Rates calibrate(const Settings &settings,
                const std::function<void(const std::string &)> &progress) {
  forgoFirstCalibration();
  return Calibration(settings, thorough(), progress).run();
}

/// Seconds that this thread has computed.
static double threadSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::optional<Rates> calibrateQuickly(const Settings &settings) {
  auto begin = std::chrono::steady_clock::now();
  double computed = threadSeconds();
  Rates expected = ratesOf(settings), found = Calibration(settings, quick(), {}).run();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  // A thread that had to wait for its core measured what others do. So did one whose core shares
  // its units or its clock with a busy one.
  constexpr double enough = 0.9, plausible = 3;
  bool hadItsCore = threadSeconds() - computed > enough * seconds;
  auto product = static_cast<size_t>(OperationKind::Product);
  bool looksRight = found.f32[product] * plausible > expected.f32[product];
  return hadItsCore && looksRight ? std::optional(std::move(found)) : std::nullopt;
}

} // namespace headrace
