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
  // Two multiply-adds and two loads a cycle; a sum is there again after four.
  double vectors = std::ceil(width / lanes);
  double arithmetic = rows * vectors / 2, loads = (rows + vectors) / 2, latency = 4;
  double inside = arithmetic / std::max({arithmetic, loads, latency}) * width / (vectors * lanes);
  // Starting values, and what is done with the sums, take as long as this many products of each.
  constexpr double ends = 10;
  // Other widths than powers of two are loaded and stored in parts, or under a mask.
  double whole = std::exp2(std::round(std::log2(width))) == width || width > lanes ? 1 : 0.8;
  return inside * whole * depth / (depth + ends);
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
    double fromCore = 0, fromBeyond = 0, computing = 0;
    for (const Work::Stream &stream : work.streams) {
      bool isNear = stream.operand < 0 && stream.workingSet <= rates.coreCacheBytes;
      (isNear ? fromCore : fromBeyond) +=
          stream.bytes / rates.bytesPerMicrosecond(stream.workingSet, sharing);
    }
    for (const Work::Arithmetic &part : work.arithmetic)
      if (part.operations > 0)
        computing += part.operations / (speedOf(part, work) * part.efficiency);
    double moving = std::max(fromCore, fromBeyond) * share * sharing;
    computing *= share;
    // Loads run ahead of arithmetic, but not far enough to hide all of the shorter part.
    constexpr double notHidden = 0.4;
    double busy = std::max(moving, computing) + notHidden * std::min(moving, computing);
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
