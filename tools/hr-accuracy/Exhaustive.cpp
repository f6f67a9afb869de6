// Every f32 there is: results are compared with double precision many at a time, and what that
// leaves in doubt, one by one.
#include "ManyResults.h"
#include "Measure.h"
#include <atomic>
#include <chrono>
#include <future>
#include <numeric>
#include <thread>

namespace headrace::accuracy {
namespace {

constexpr int64_t kNumbers = int64_t{1} << 32, kBlock = 1 << 16, kBlocks = kNumbers / kBlock;
constexpr int64_t kSpread = 40'503; // odd: every block has its turn

/// State that the workers share.
struct Sweep {
  const Function &function;
  std::span<const Evaluate> implementations;
  std::optional<ManyResults> many = manyResults(function.name);
  int smallest = smallestOf(kF32, function.smallest);
  std::atomic<int64_t> nextBlock = 0;
  /// The largest error of each implementation so far, in units; smaller errors need no exact check.
  std::vector<std::atomic<double>> found = std::vector<std::atomic<double>>(implementations.size());
};

class Worker {
public:
  explicit Worker(Sweep &sweep)
      : sweep(sweep), searches(sweep.implementations.size(),
                               Search<double>(DType::F32, sweep.function.smallest)) {}

  std::vector<Search<double>> run() {
    // Spread over all magnitudes, so that large errors are found early and nearly nothing exceeds
    // them.
    for (int64_t i; (i = sweep.nextBlock++) < kBlocks;)
      visit(i * kSpread % kBlocks);
    return std::move(searches);
  }

private:
  void visit(int64_t block) {
    auto *bits = static_cast<uint32_t *>(points.data());
    std::iota(bits, bits + kBlock, static_cast<uint32_t>(block * kBlock));
    const auto *x = points.as<float>();
    if (sweep.many)
      sweep.many->exact(x, exact.data(), kBlock);
    for (size_t k = 0; k < searches.size(); ++k) {
      Tensor results = sweep.implementations[k]({points});
      look(searches[k], sweep.found[k], x, results.as<float>());
    }
  }

  void look(Search<double> &search, std::atomic<double> &found, const float *x, const float *got) {
    int64_t count = kBlock;
    if (sweep.many) {
      // A little less than what was found, for the rounding of the exact results.
      double units = std::max(found.load() * (1 - 0x1p-16), 0x1p-16);
      count = sweep.many->findSuspects(got, exact.data(), kBlock, sweep.smallest, units,
                                       suspects.data());
    } else {
      std::iota(suspects.begin(), suspects.end(), 0);
    }
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = suspects[i];
      search.add(got[at], sweep.function.of32(x[at]), x[at]);
    }
    // Another thread may store less in between, which costs it a few looks more.
    if (search.worst.units > found.load())
      found.store(search.worst.units);
  }

  Sweep &sweep;
  std::vector<Search<double>> searches;
  Tensor points = Tensor::allocate(DType::F32, {kBlock});
  std::vector<double> exact = std::vector<double>(kBlock);
  std::vector<int64_t> suspects = std::vector<int64_t>(kBlock);
};

/// Until the workers have taken the last block.
void showProgress(const Sweep &sweep, std::future<std::vector<Search<double>>> &last) {
  auto begin = std::chrono::steady_clock::now();
  while (last.wait_for(std::chrono::seconds(5)) != std::future_status::ready) {
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    double done = static_cast<double>(std::min(sweep.nextBlock.load(), kBlocks)) / kBlocks;
    std::fprintf(stderr, "%.*s: %.0f%% of all f32, %.0f s left\n",
                 static_cast<int>(sweep.function.name.size()), sweep.function.name.data(),
                 100 * done, done > 0 ? spent.count() * (1 - done) / done : 0.0);
  }
}

} // namespace

std::vector<Worst> measureAll(const Function &function, std::span<const Evaluate> implementations) {
  Sweep sweep{function, implementations};
  std::vector<std::future<std::vector<Search<double>>>> workers;
  for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1u); ++i)
    workers.push_back(std::async(std::launch::async, [&] { return Worker(sweep).run(); }));
  showProgress(sweep, workers.front());
  std::vector<Worst> worst(implementations.size());
  for (auto &worker : workers) {
    std::vector<Search<double>> searches = worker.get();
    for (size_t k = 0; k < worst.size(); ++k)
      if (searches[k].worst.units > worst[k].units)
        worst[k] = searches[k].worst;
  }
  return worst;
}

} // namespace headrace::accuracy
