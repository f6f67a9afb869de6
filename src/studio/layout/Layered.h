// A layered layout of a directed acyclic graph: every edge leads downwards, from one row to a later
// one. Roughly linear in nodes and edges, without randomness, and with places from an earlier
// layout as hints, so that what did not change stays where it was.
#pragma once

#include <optional>
#include <vector>

namespace headrace::studio {

/// Where an item was in an earlier layout.
struct PlaceHint {
  int row = 0;
  double x = 0;
};

struct LayeredItem {
  double width = 100, height = 34;
  std::optional<PlaceHint> hint = {};
};

/// An edge between items, by index; `from` comes before `to` in program order, or the edge is laid
/// out as if it did.
struct LayeredEdge {
  int from = 0, to = 0;
};

/// A place in a row: of an item, or of a chain of edges that passes the row.
struct RowPlace {
  int item = -1; ///< -1: edges that pass
  int row = 0;
  double x = 0; ///< of the center
};

struct LayeredResult {
  /// Places of the items first, in their order, then of passing edges.
  std::vector<RowPlace> places;
  /// The places of each row, from left to right.
  std::vector<std::vector<int>> rows;
  /// For each edge: the passing places between its ends, by row.
  std::vector<std::vector<int>> routes;
};

/// Space between neighbours in a row, and the width that a passing edge takes.
inline constexpr double kGap = 22, kPassWidth = 6;
/// An edge over more rows than this is drawn directly, and takes no places in between.
inline constexpr int kMaxRoute = 24;

/// Lays out items that stand in program order.
LayeredResult layOut(const std::vector<LayeredItem> &items, const std::vector<LayeredEdge> &edges);

/// Moves centers as little as possible (weighted least squares) so that neighbours keep their
/// order and distances: `centers[i + 1] - centers[i] >= apart[i]`.
void keepApart(std::vector<double> &centers, const std::vector<double> &weights,
               const std::vector<double> &apart);

} // namespace headrace::studio
