#include "analysis/cost/LeastMovement.h"

#include <algorithm>
#include <cmath>

namespace headrace {

double leastBytes(const Work &work, double compulsory, double cacheBytes) {
  double least = compulsory;
  for (const Work::Reuse &product : work.reuse) {
    // Elements of the smallest size: the cache holds no more of the others, and a transfer of one
    // of the others is no smaller.
    double elements = cacheBytes / product.elementBytes;
    double pointsOfPhase = std::sqrt(product.positions) * std::pow(2 * elements, 1.5);
    double phases = std::floor(product.points / pointsOfPhase);
    least = std::max(least, phases * elements * product.elementBytes);
  }
  return least;
}

} // namespace headrace
