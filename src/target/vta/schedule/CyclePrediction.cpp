#include "target/vta/schedule/CyclePrediction.h"

#include "runtime/vta/CycleModel.h"
#include "target/vta/schedule/ChipPlan.h"

#include <algorithm>

namespace headrace::vta {

namespace {

using Along = Schedule::Along;

class Prediction {
public:
  Prediction(const OperatorShape &shape, const AluProgram &stages, const Schedule &schedule,
             const Configuration &configuration)
      : shape(shape), stages(stages), schedule(schedule), configuration(configuration),
        plan(shape, stages, schedule, configuration), steps(dividedUp(shape.depth, schedule.in)),
        spots(dividedUp(shape.batch, schedule.batch) * dividedUp(shape.height, schedule.rows) *
              dividedUp(shape.width, schedule.columns)),
        elements(shape.batch * shape.out * shape.height * shape.width) {
    for (const Family &family : shape.families)
      outs += dividedUp(family.end - family.begin, schedule.out);
  }

  double cycles() const {
    double load = shape.multiplies ? loads() : 0, work = compute(), out = stores();
    if (schedule.threads == 1)
      return load + work + out;
    // Nothing hides the first transfer and the end of the last tile.
    double tiles = static_cast<double>(spots * outs);
    double begin = shape.multiplies ? inputLoad() + weightLoad() : 0;
    double end = finish() / tiles + out / tiles;
    return std::max({load, work + waits(), out}) + begin + end;
  }

private:
  double transfer(double instructions, double moved, Memory memory) const {
    return instructions * static_cast<double>(constants.latency) +
           moved * static_cast<double>(configuration.elementBytes(memory)) /
               static_cast<double>(constants.bytesPerCycle);
  }

  bool isSpatial() const { return schedule.along != Along::In && schedule.along != Along::Out; }
  bool splits(bool along) const { return schedule.threads > 1 && along; }
  int64_t groups(int64_t tiles, bool inPairs) const {
    return inPairs ? dividedUp(tiles, 2) : tiles;
  }

  // --- loads of one step ------------------------------------------------------------------------

  double inputLoad() const {
    int64_t rows = std::min(shape.inputRows(schedule.rows), shape.inputHeight),
            columns = std::min(shape.inputColumns(schedule.columns), shape.inputWidth);
    // Padded planes are loaded one by one; whole rows of whole images are one piece.
    bool isPadded = shape.padTop + shape.padLeft > 0;
    bool isWhole = rows == shape.inputHeight && columns == shape.inputWidth;
    int64_t instructions = isPadded                      ? schedule.batch * schedule.in
                           : isWhole                     ? 1
                           : columns == shape.inputWidth ? schedule.batch
                                                         : schedule.batch * schedule.in;
    return transfer(static_cast<double>(instructions),
                    static_cast<double>(schedule.batch * schedule.in * rows * columns),
                    Memory::Inp);
  }

  double weightLoad() const {
    return transfer(1, static_cast<double>(plan.weights.size), Memory::Wgt);
  }

  // --- how often
  // ----------------------------------------------------------------------------------

  /// Parts that are loaded in all: `again` of them come `times` times, and those at a turn are
  /// still there.
  static double loadCount(int64_t again, int64_t times, int64_t slots) {
    if (slots >= again)
      return static_cast<double>(again);
    return static_cast<double>(again + (times - 1) * (again - std::min(slots, again)));
  }

  double loads() const {
    int64_t spotGroups = groups(spots, splits(isSpatial())),
            outGroups = groups(outs, splits(schedule.along == Along::Out));
    double weights = 0, inputs = 0;
    auto total = [](int64_t count) { return static_cast<double>(count); };
    if (schedule.keep == Schedule::Keep::Weights) {
      weights = total(outs) * loadCount(steps, spotGroups, plan.weights.count);
      bool allStay = plan.inputs.count >= spots * steps;
      auto families = static_cast<int64_t>(shape.families.size());
      inputs = allStay      ? total(spots * steps * families)
               : spots == 1 ? loadCount(steps, outGroups, plan.inputs.count)
                            : total(outGroups * spots * steps);
    } else {
      inputs = total(spots) * loadCount(steps, outGroups, plan.inputs.count);
      weights = plan.weights.count >= outs * steps
                    ? total(outs * steps)
                    : (outs == 1 ? loadCount(steps, spotGroups, plan.weights.count)
                                 : total(spotGroups * outs * steps));
    }
    return weights * weightLoad() + inputs * inputLoad();
  }

  // --- compute and store
  // --------------------------------------------------------------------------

  /// Stages of all tiles.
  double finish() const {
    return static_cast<double>(elements) * stages.cyclesPerElement(configuration);
  }

  double compute() const {
    double results = static_cast<double>(elements);
    if (shape.multiplies)
      return results * static_cast<double>(shape.depth * shape.window()) + results + finish() +
             microOps();
    double instructions = static_cast<double>(spots * outs);
    double source = shape.pools ? static_cast<double>(plan.results.first - plan.sourceAt)
                                : static_cast<double>(plan.results.size);
    double windows = shape.pools ? 1 + 2 * static_cast<double>(shape.window()) : 0;
    return instructions * transfer(1, source, Memory::Acc8) + results * windows + finish();
  }

  /// Micro-ops of products are loaded once for each combination of places, as long as they fit.
  double microOps() const {
    std::array<int64_t, 7> loops = {schedule.batch, schedule.rows, schedule.columns, schedule.out,
                                    schedule.in,    shape.windowY, shape.windowX};
    std::ranges::sort(loops);
    int64_t body = 1;
    for (size_t i = 0; i + 2 < loops.size(); ++i)
      body *= loops[i];
    int64_t products = spots * outs * steps;
    int64_t places =
        std::min(std::max(plan.inputs.count, plan.weights.count) * plan.results.count, products);
    if (places * body > static_cast<int64_t>(configuration.depth(Memory::Uop)))
      places = products;
    return static_cast<double>(places) * transfer(1, static_cast<double>(body), Memory::Uop);
  }

  /// Two threads with a tile each end together: the next two wait for the stores.
  double waits() const {
    if (!shape.multiplies || schedule.along == Along::In)
      return 0;
    double tiles = static_cast<double>(spots * outs);
    double store = stores() / tiles, stage = finish() / tiles,
           step = static_cast<double>(elements * shape.depth * shape.window()) /
                  (tiles * static_cast<double>(steps));
    return tiles / 2 * std::max(0.0, 2 * store - stage - step);
  }

  double stores() const {
    bool isWhole = schedule.rows == shape.height && schedule.columns == shape.width;
    int64_t instructions = spots * outs * (isWhole ? 1 : schedule.out) * schedule.batch;
    return transfer(static_cast<double>(instructions), static_cast<double>(elements), Memory::Out);
  }

  const OperatorShape &shape;
  const AluProgram &stages;
  const Schedule &schedule;
  const Configuration &configuration;
  CycleConstants constants;
  ChipPlan plan;
  int64_t steps, spots, elements, outs = 0;
};

} // namespace

double predictCycles(const OperatorShape &shape, const AluProgram &stages, const Schedule &schedule,
                     const Configuration &configuration) {
  return Prediction(shape, stages, schedule, configuration).cycles();
}

} // namespace headrace::vta
