// A program after a phase, as `headrace explain --to=PHASE --json` prints it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace headrace::studio {

struct Node {
  std::string id, kind;
  std::vector<std::string> operators; // nodes of the model
  int inside = -1;                    // the kernel of which it is a stage
  bool isConstant = false;            // not drawn: its bytes belong to its users
};

struct Edge {
  int from = 0, to = 0;
  int64_t bytes = 0; // 0 if they depend on dynamic dimensions
  std::string shape; // type and shape, as text
};

struct Graph {
  std::vector<Node> nodes; // in program order
  std::vector<Edge> edges;
};

/// Reads the graph. Throws Error if the document is not one.
Graph readGraph(const nlohmann::ordered_json &document);

} // namespace headrace::studio
