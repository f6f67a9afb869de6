// The layout of a whole program: each group is a layered graph of its own, of nodes and of groups
// drawn as one box, so that a group can be opened or closed without moving anything inside another.
// A viewer puts the frames together.
#pragma once

#include "studio/graph/Graph.h"
#include "studio/graph/Groups.h"
#include "studio/layout/Layered.h"
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headrace::studio {

/// A group or kernel with what is inside it, laid out.
struct Frame {
  struct Item {
    int node = -1;  ///< of the program, or
    int frame = -1; ///< a frame inside this one
  };
  /// A value, or several, between two items.
  struct Link {
    int from = 0, to = 0; ///< items
    int64_t bytes = 0;
    std::vector<int> edges; ///< of the program
  };
  std::string name;
  int parent = -1;
  int kernel = -1; ///< the node whose stages these are
  int blocks = 0;  ///< how many equal blocks; 0 for other groups
  int nodes = 0;   ///< inside, on all levels
  std::vector<Item> items;
  std::vector<Link> links;
  std::vector<std::pair<int, int64_t>> enters, leaves; ///< items with values from and to outside
  LayeredResult layout;
};

struct ProgramLayout {
  std::vector<Frame> frames; ///< the first is the whole program, every other after its parent
};

/// Places of operators in frames, for the layout of the program after a later phase.
using Places = std::map<std::pair<std::string, std::string>, PlaceHint>;

/// Lays out the program. Operators that have a place in `known` stay there.
ProgramLayout layOutProgram(const Graph &graph, const Groups &groups, const Places &known = {});
/// The places of the program's operators, by the path of the frame and their name.
Places placesOf(const ProgramLayout &layout, const Graph &graph);

} // namespace headrace::studio
