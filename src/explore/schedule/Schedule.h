// When each task of a graph runs, and how much room the streams between tasks need.
//
// Blocks run one after the other (SpatialBlocks.h). In a block, tasks joined by streams settle at
// one pace: the one with the largest volume moves an element each cycle, the others wait for it. So
// a stream moves an element every V / weight cycles, V being that largest volume.
#pragma once

#include "explore/schedule/SpatialBlocks.h"

namespace headrace::explore {

struct ScheduledTask {
  int block = 0;
  int processingElement = -1; ///< of 0 and up; -1 for what takes none
  int64_t start = 0;
  int64_t firstOutput = 0; ///< when the first element is there for others
  int64_t end = 0;
};

struct ScheduledEdge {
  bool streams = false;  ///< else the receiver waits for the end of the sender
  Fraction interval = 1; ///< cycles from element to element, once the pace is settled
  /// Elements that the stream's buffer holds: with that many no task waits longer than planned, so
  /// nothing can stall. 0 if nothing streams.
  int64_t capacity = 0;
};

struct ScheduleOptions {
  int processingElements = 16;
  Partitioner partitioner = Partitioner::LargestFirst;
  /// How often streams of one element, or whose buffer would hold all elements but one, are made
  /// edges that wait, which frees both sides from the other's pace.
  int storeRounds = 5;
};

struct Schedule {
  ScheduleOptions options;
  std::vector<std::vector<int>> blocks;
  std::vector<ScheduledTask> tasks;
  std::vector<ScheduledEdge> edges;
  int64_t makespan = 0;
  /// The makespan if every stream kept its settled pace from its first element on: it does not take
  /// longer than that.
  int64_t bound = 0;
};

Schedule schedule(const TaskGraph &graph, const ScheduleOptions &options);

/// Elements that the buffers of all streams hold.
int64_t bufferSpace(const Schedule &schedule);

/// Elements that cross the memory off chip: what does not stream is written there once by whoever
/// makes it, and read by everyone who needs it.
int64_t offChipVolume(const TaskGraph &graph, const Schedule &schedule);
/// If no edge streams.
int64_t offChipVolumeWithoutStreams(const TaskGraph &graph);
/// If every edge between tasks that compute streams: no schedule moves less.
int64_t minOffChipVolume(const TaskGraph &graph);

} // namespace headrace::explore
