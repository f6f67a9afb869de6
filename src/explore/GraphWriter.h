// Writes task graphs operator by operator: each reads the stream that the one before it gave.
#pragma once

#include "explore/TaskGraph.h"

namespace headrace::explore {

/// Elements that a task gives.
struct Stream {
  int task;
  int64_t volume;
};

class GraphWriter {
public:
  /// `volume` elements come in.
  GraphWriter(std::string name, int64_t volume);

  /// Tasks from now on compute this operator; their names begin with its name.
  void beginOperator(std::string name, std::string place = "");

  Stream input() const { return {0, inputVolume}; }
  bool isInput(const Stream &stream) const { return stream.task == 0; }

  /// A task named `part` of the current operator. It reads all the streams, which carry `reads`
  /// elements each, and gives `writes`.
  Stream task(const std::string &part, const std::vector<Stream> &from, int64_t reads,
              int64_t writes) {
    return add(part, TaskKind::Compute, from, reads, writes);
  }
  Stream buffer(const std::string &part, const std::vector<Stream> &from, int64_t writes) {
    return add(part, TaskKind::Buffer, from, from.front().volume, writes);
  }

  /// The graph, which ends in this stream.
  TaskGraph finish(const Stream &result);

private:
  Stream add(const std::string &part, TaskKind kind, const std::vector<Stream> &from, int64_t reads,
             int64_t writes);

  TaskGraph graph;
  int64_t inputVolume;
  std::string operatorName, operatorPlace;
};

} // namespace headrace::explore
