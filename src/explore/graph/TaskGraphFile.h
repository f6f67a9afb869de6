// Task graphs as JSON files:
//   {"name": "chain",
//    "tasks": [{"name": "in", "kind": "source"},
//              {"name": "relu", "input": 32, "output": 32, "operators": ["Relu_1"], "place":
//              "..."},
//              {"name": "all", "kind": "buffer", "input": 32, "output": 32},
//              {"name": "out", "kind": "sink"}],
//    "edges": [["in", "relu"], ["relu", "all"], ["all", "out"]]}
// A task that computes may say its kind ("element-wise", "downsampler", "upsampler"), which then
// has to agree with its volumes.
#pragma once

#include "explore/graph/TaskGraph.h"

#include <filesystem>

namespace headrace::explore {

/// All throw Error that names the file, or `source` in its place, and the task.
TaskGraph readTaskGraph(const std::filesystem::path &path);
TaskGraph parseTaskGraph(std::string_view text, const std::string &source);

std::string taskGraphText(const TaskGraph &graph);

} // namespace headrace::explore
