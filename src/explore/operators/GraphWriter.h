// Writes task graphs operator by operator: each reads streams that others gave.
#pragma once

#include "explore/graph/TaskGraph.h"

#include <unordered_set>

namespace headrace::explore {

/// Elements that a task gives, or that an input of the program has.
struct Stream {
  int task;
  int64_t volume;
  int input = -1; ///< which one, if it is an input

  bool isInput() const { return input >= 0; }
  bool operator==(const Stream &) const = default;
};

class GraphWriter {
public:
  explicit GraphWriter(std::string name);

  /// Tasks from now on compute these operators; their names begin with the name, or if that was
  /// there before, with it and a number.
  void beginOperator(const std::string &name, std::vector<std::string> operators,
                     std::string place = "");

  Stream input(int number, int64_t volume) const { return {0, volume, number}; }

  /// A task named `part` of the current operator. It reads all the streams, which carry `reads`
  /// elements each, and gives `writes`.
  Stream task(const std::string &part, const std::vector<Stream> &from, int64_t reads,
              int64_t writes, int64_t points = 0) {
    return add(part, TaskKind::Compute, from, reads, writes, points);
  }
  Stream buffer(const std::string &part, const std::vector<Stream> &from, int64_t writes) {
    return add(part, TaskKind::Buffer, from, from.front().volume, writes, 0);
  }

  /// The graph, which ends in these streams.
  TaskGraph finish(const std::vector<Stream> &results);

private:
  Stream add(const std::string &part, TaskKind kind, const std::vector<Stream> &from, int64_t reads,
             int64_t writes, int64_t points);

  TaskGraph graph;
  std::string prefix, operatorPlace;
  std::vector<std::string> operatorNames;
  std::unordered_set<std::string> prefixes;
};

} // namespace headrace::explore
