#include "analysis/cost/CostModel.h"

#include <algorithm>
#include <cmath>

namespace headrace {

double Work::bytes() const {
  double sum = 0;
  for (const Stream &stream : streams)
    sum += stream.bytes;
  return sum;
}

double Work::operations() const {
  double sum = 0;
  for (const Arithmetic &part : arithmetic)
    sum += part.operations;
  return sum;
}

double RegisterTile::efficiency() const {
  double unit = unitLanes > 0 ? std::min(unitLanes, lanes) : lanes;
  double vectors = std::ceil(width / lanes);
  // The last vector is a shorter one if there are vectors of that length, else a masked one.
  double last = width - (vectors - 1) * lanes;
  bool isShorter = std::exp2(std::round(std::log2(last))) == last && last >= unit;
  double turns = ((vectors - 1) * lanes + (isShorter ? last : lanes)) / unit;
  // In a cycle: turns of two multiply-adds, and two loads; a sum is there again after four. On the
  // way in and out of a tile, a branch is guessed wrongly, and results are stored, most of them
  // while the next tile is computed.
  constexpr double latency = 4, branch = 10, ofStore = 0.3;
  double arithmetic = rows * turns / 2, loads = (rows + vectors) / 2;
  double cycles = depth * std::max({arithmetic, loads, latency}) + branch + ofStore * rows * turns;
  // Other widths than powers of two are loaded and stored in parts, or under a mask.
  double whole = std::exp2(std::round(std::log2(width))) == width || width > lanes ? 1 : 0.8;
  return rows * width / unit / 2 * depth / cycles * whole;
}

namespace {

class RooflineModel final : public CostModel {
public:
  explicit RooflineModel(Rates rates) : rates(std::move(rates)) {}

  Estimate estimate(const Work &work, int threads) const override {
    double parts = std::max(1.0, std::floor(work.parts));
    int sharing = static_cast<int>(std::min<double>(std::max(threads, 1), parts));
    // The last part keeps the others waiting.
    double share = std::ceil(parts / sharing) / parts;
    // The core's own cache delivers while what is beyond it does.
    double fromCore = 0, fromBeyond = 0, computing = 0, dividing = 0;
    for (const Work::Stream &stream : work.streams) {
      bool isNear = stream.operand < 0 && stream.workingSet <= rates.coreCacheBytes;
      (isNear ? fromCore : fromBeyond) +=
          stream.bytes / rates.bytesPerMicrosecond(stream.workingSet, sharing);
    }
    for (const Work::Arithmetic &part : work.arithmetic)
      if (part.operations > 0)
        (part.kind == OperationKind::Division ? dividing : computing) +=
            part.operations / (speedOf(part, work) * part.efficiency);
    double moving = std::max(fromCore, fromBeyond) * share * sharing;
    // Loads run ahead of arithmetic, and divisions, which have a unit of their own, beside it; but
    // not far enough to hide all of the shorter part.
    constexpr double notHidden = 0.4;
    auto together = [&](double a, double b) { return std::max(a, b) + notHidden * std::min(a, b); };
    computing = together(computing, dividing) * share;
    double busy = together(moving, computing);
    double calls = work.kernelCalls * (rates.kernelCall + (sharing > 1 ? rates.sharing : 0)) +
                   work.libraryCalls * rates.libraryCall;
    Estimate result{.microseconds = busy + calls};
    if (result.microseconds <= 0)
      return result;
    // The longer of two counts in full, the shorter one as far as it is not hidden.
    double ofMoving = (moving >= computing ? 1 : notHidden) * moving / result.microseconds;
    (fromBeyond >= fromCore ? result.memory : result.cache) = ofMoving;
    result.arithmetic = (busy / result.microseconds) - ofMoving;
    result.calls = calls / result.microseconds;
    return result;
  }

private:
  double speedOf(const Work::Arithmetic &part, const Work &work) const {
    double own = rates.operationsPerMicrosecond(part.kind, part.type);
    if (work.libraryCalls == 0 || part.kind != OperationKind::Product)
      return own;
    double library = rates.libraryOperationsPerMicrosecond(part.type, work.librarySide);
    return library > 0 ? library : own;
  }

  Rates rates;
};

} // namespace

std::unique_ptr<const CostModel> makeRooflineModel(Rates rates) {
  return std::make_unique<RooflineModel>(std::move(rates));
}

} // namespace headrace
