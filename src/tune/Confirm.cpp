#include "tune/Confirm.h"

#include "driver/LevelOneProgram.h"
#include "driver/Specialize.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"

#include "tune/store/TunedStore.h"
#include "verify/Verify.h"
#include <algorithm>
#include <chrono>

namespace headrace::tune {

namespace {

using Clock = std::chrono::steady_clock;

class Confirmer {
public:
  Confirmer(const Model &model, const Settings &settings,
            const std::vector<std::optional<int64_t>> &sizes, double seconds)
      : model(model), settings(settings), sizes(sizes), seconds(seconds),
        end(Clock::now() +
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
        untuned(compiledWith({})) {}

  Confirmation run(const std::vector<TunedRecord> &records) {
    Confirmation all{records, ratioWith(records)};
    if (all.ratio < 1)
      return all;
    Confirmation some = fasterHalves(records, 3);
    if (some.kept.empty() || some.kept.size() == 1)
      return some;
    // Those that are faster by halves have to be so together.
    some.ratio = ratioWith(some.kept);
    return some.ratio < 1 ? some : Confirmation();
  }

private:
  Confirmation fasterHalves(std::span<const TunedRecord> records, int depth) {
    Confirmation result;
    if (records.size() < 2 || depth == 0 || Clock::now() > end)
      return result;
    size_t half = records.size() / 2;
    for (std::span<const TunedRecord> part : {records.first(half), records.subspan(half)}) {
      Confirmation found{{part.begin(), part.end()}, ratioWith(part)};
      if (found.ratio >= 1)
        found = fasterHalves(part, depth - 1);
      result.kept.insert(result.kept.end(), found.kept.begin(), found.kept.end());
      result.ratio = std::min(result.ratio, found.ratio);
    }
    return result;
  }

  std::unique_ptr<Model> compiledWith(std::span<const TunedRecord> records) {
    Settings own = settings;
    own.specialize = "never";
    own.tuning = "never";
    std::string text;
    for (const TunedRecord &record : records)
      text += toJson(record).dump() + "\n";
    std::filesystem::path file;
    if (!records.empty()) {
      std::string name =
          (std::filesystem::temp_directory_path() / "headrace-tuned-XXXXXX").string();
      int descriptor = ::mkstemp(name.data());
      if (descriptor < 0)
        throw Error(ErrorKind::Io, name + ": cannot make a file");
      ::close(descriptor);
      file = name;
      writeFileAtomically(file, {std::as_bytes(std::span(text))});
      own.tuning = name;
    }
    LevelOneProgram program = model.copyOfProgram();
    mlir::OwningOpRef<mlir::ModuleOp> fixed = specializeProgram(*program.module, sizes);
    program.module = std::move(fixed);
    program.importFor = nullptr;
    auto result = std::make_unique<Model>(std::move(program), own);
    if (inputs.empty()) {
      verify::Options options;
      options.settings = own;
      inputs = verify::makeCases(*result, options).front().inputs;
    }
    (void)result->runValues(inputs); // compiles
    if (!file.empty()) {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
    }
    return result;
  }

  double timeOf(Model &each) {
    auto start = Clock::now();
    (void)each.runValues(inputs);
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  double ratioWith(std::span<const TunedRecord> records) {
    pollInterruption();
    std::unique_ptr<Model> tuned = compiledWith(records);
    constexpr int kMinTurns = 10, kMaxTurns = 200;
    double once = timeOf(*tuned) + timeOf(*untuned);
    int turns = std::clamp(static_cast<int>(seconds / 6 / once), kMinTurns, kMaxTurns);
    std::vector<double> ratios;
    for (int turn = 0; turn < turns; ++turn) {
      pollInterruption();
      // Neither is always the first.
      bool isTunedFirst = turn % 2 == 0;
      double first = timeOf(isTunedFirst ? *tuned : *untuned);
      double second = timeOf(isTunedFirst ? *untuned : *tuned);
      ratios.push_back(isTunedFirst ? first / second : second / first);
    }
    auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::ranges::nth_element(ratios, middle);
    return *middle;
  }

  const Model &model;
  Settings settings;
  std::vector<std::optional<int64_t>> sizes;
  double seconds;
  Clock::time_point end;
  std::vector<RuntimeValue> inputs;
  std::unique_ptr<Model> untuned;
};

} // namespace

Confirmation confirmed(const Model &model, const Settings &settings,
                       const std::vector<std::optional<int64_t>> &sizes,
                       const std::vector<TunedRecord> &records, double seconds) {
  return Confirmer(model, settings, sizes, seconds).run(records);
}

} // namespace headrace::tune
