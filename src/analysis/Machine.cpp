#include "analysis/Machine.h"

namespace headrace {

int64_t chooseFeatureTile(const Machine &machine, int64_t features, int64_t elementBytes) {
  // Half of the registers' worth of rows must remain, so at most four vectors side by side. A tile
  // that leaves lanes of its last vector unused is worth as much less.
  int64_t lanes = machine.lanes(elementBytes);
  int64_t best = 0;
  double bestValue = 0.6;
  for (int64_t tile = 1; tile <= 4 * lanes && tile <= features; ++tile) {
    if (features % tile != 0)
      continue;
    int64_t vectors = (tile + lanes - 1) / lanes;
    double used = static_cast<double>(tile) / static_cast<double>(vectors * lanes);
    // Two vectors share each broadcast of the other operand; three or four cost rows.
    double value = used * (vectors == 1 ? 0.85 : vectors == 2 ? 1.0 : vectors == 3 ? 0.95 : 0.9);
    if (value >= bestValue) {
      best = tile;
      bestValue = value;
    }
  }
  if (best == 0 && features <= 4 * lanes)
    return features;
  return best;
}

} // namespace headrace
