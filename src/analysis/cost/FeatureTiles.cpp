#include "analysis/cost/FeatureTiles.h"

#include "analysis/cost/CostModel.h"

#include <algorithm>

namespace headrace {

int64_t FeatureTiles::mostRows(int64_t registers, int64_t vectors) {
  return std::clamp<int64_t>((registers - 1 - vectors) / vectors, 1, 14);
}

double FeatureTiles::efficiencyOf(int64_t columns) const {
  int64_t vectors = (columns + lanes - 1) / lanes;
  // A single row is computed for several tiles of columns at once.
  int64_t sharing = rows == 1 ? features / columns : rows;
  RegisterTile tile;
  tile.rows = static_cast<double>(std::min(mostRows(registers, vectors), sharing));
  tile.width = static_cast<double>(columns);
  tile.lanes = static_cast<double>(lanes);
  return tile.efficiency();
}

int64_t FeatureTiles::propose() const {
  // Powers of two: the code generator pads any other width up to the next one, and the padding
  // takes registers from the rows. Two vectors share each broadcast of the other operand and come
  // first among equals.
  std::vector<int64_t> candidates{2 * lanes, 4 * lanes, lanes, lanes / 2, lanes / 4};
  std::erase_if(candidates, [&](int64_t tile) { return tile <= 1 || features % tile != 0; });
  if (features <= 2 * lanes)
    candidates.push_back(features);
  int64_t best = 0;
  for (int64_t tile : candidates)
    if (best == 0 || efficiencyOf(tile) > efficiencyOf(best))
      best = tile;
  return best;
}

std::string FeatureTiles::refusalOf(int64_t columns) const {
  if (columns < 1 || features % columns != 0)
    return "there are " + std::to_string(features) + " columns, which is no multiple";
  return "";
}

} // namespace headrace
