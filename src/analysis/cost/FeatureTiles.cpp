#include "analysis/cost/FeatureTiles.h"

#include "analysis/cost/CostModel.h"

#include <algorithm>

namespace headrace {

int64_t FeatureTiles::maxRows(int64_t registers, int64_t lanes, int64_t columns) {
  int64_t vectors = (columns + lanes - 1) / lanes;
  // For whole vectors and a remainder, the code generator keeps more than one pair in registers.
  int64_t others = columns > lanes && columns % lanes != 0 ? 3 : 1;
  return std::clamp<int64_t>((registers - others - vectors) / vectors, 1, 14);
}

double FeatureTiles::efficiencyOf(int64_t columns) const {
  // A single row is computed for several tiles of columns at once.
  int64_t sharing = rows == 1 ? features / columns : rows;
  RegisterTile tile;
  tile.rows = static_cast<double>(std::min(maxRows(registers, lanes, columns), sharing));
  tile.width = static_cast<double>(columns);
  tile.lanes = static_cast<double>(lanes);
  tile.depth = 1e9; // what tiles begin and end with is the same for all columns
  return tile.efficiency();
}

int64_t FeatureTiles::propose() const {
  // Two vectors share each broadcast of the other operand and come first among equals.
  std::vector<int64_t> candidates{2 * lanes, 4 * lanes, lanes};
  auto isTile = [&](int64_t tile) { return tile > 1 && features % tile == 0; };
  if (features <= 2 * lanes)
    candidates.push_back(features);
  else if (std::ranges::none_of(candidates, isTile))
    // Whole vectors and a rest: most lanes are in use, the more so the more vectors there are.
    for (int64_t most : {2 * lanes, 4 * lanes})
      for (int64_t tile = most - 1; tile > most / 2; --tile)
        candidates.push_back(tile);
  candidates.insert(candidates.end(), {lanes / 2, lanes / 4});
  std::erase_if(candidates, [&](int64_t tile) { return !isTile(tile) && tile != features; });
  auto fillsVectors = [&](int64_t tile) { return tile >= lanes && staysInCache(tile); };
  // Weights that do not stay in the core's cache are fetched again for every tile of rows.
  if (std::ranges::any_of(candidates, [&](int64_t tile) { return fillsVectors(tile); }))
    std::erase_if(candidates, [&](int64_t tile) { return tile >= lanes && !fillsVectors(tile); });
  constexpr double clearly = 1.0001; // equal ones differ by how they begin and end
  int64_t best = 0;
  for (int64_t tile : candidates)
    if (best == 0 || efficiencyOf(tile) > clearly * efficiencyOf(best))
      best = tile;
  return best;
}

bool FeatureTiles::staysInCache(int64_t columns) const {
  constexpr double besidesRows = 0.75;
  return cacheBytes <= 0 || columnBytes * static_cast<double>(columns) <= besidesRows * cacheBytes;
}

bool FeatureTiles::restPays() const {
  int64_t tile = propose(), whole = 2 * lanes;
  // Few rows wait for their sums unless they are computed for several tiles at once.
  if (features <= whole || rows < maxRows(registers, lanes, whole) / 2)
    return false;
  auto vectors = [&](int64_t columns) { return (columns + lanes - 1) / lanes; };
  return tile == 0 ||
         features / whole * 2 + vectors(features % whole) < features / tile * vectors(tile);
}

std::string FeatureTiles::refusalOf(int64_t columns) const {
  if (columns < 1 || features % columns != 0)
    return "there are " + std::to_string(features) + " columns, which is not a multiple";
  return "";
}

} // namespace headrace
