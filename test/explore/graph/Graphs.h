// Small graphs that tests write down as lists of edges.
#pragma once

#include "explore/graph/TaskGraph.h"
#include "runtime/system/Error.h"

#include <gtest/gtest.h>
#include <map>

namespace headrace::explore::test {

struct Volumes {
  int64_t input, output;
  TaskKind kind = TaskKind::Compute;
};

/// Tasks, and edges between their places in the list; "in" and "out" are source and sink, joined to
/// all tasks that have no predecessor or no successor.
inline TaskGraph graphOfTasks(const std::vector<Task> &tasks,
                              const std::vector<std::pair<int, int>> &edges) {
  TaskGraph graph;
  int source = graph.add({"in", TaskKind::Source, 0, 0, {}, ""}), first = source + 1;
  for (const Task &task : tasks)
    graph.add(task);
  int sink = graph.add({"out", TaskKind::Sink, 0, 0, {}, ""});
  for (auto [from, to] : edges)
    graph.connect(first + from, first + to);
  for (int task = first; task < sink; ++task) {
    if (graph.edgesInto(task).empty())
      graph.connect(source, task);
    if (graph.edgesOutOf(task).empty())
      graph.connect(task, sink);
  }
  graph.validate();
  return graph;
}

/// A graph whose edges name their tasks.
inline TaskGraph graphOf(const std::vector<std::pair<std::string, Volumes>> &tasks,
                         const std::vector<std::pair<std::string, std::string>> &edges) {
  std::map<std::string, int> places;
  std::vector<Task> list;
  for (const auto &[name, volumes] : tasks) {
    places[name] = static_cast<int>(list.size());
    list.push_back({name, volumes.kind, volumes.input, volumes.output, {}, ""});
  }
  std::vector<std::pair<int, int>> between;
  for (const auto &[from, to] : edges)
    between.emplace_back(places.at(from), places.at(to));
  return graphOfTasks(list, between);
}

inline int taskNamed(const TaskGraph &graph, const std::string &name) {
  for (int task = 0; task < graph.size(); ++task)
    if (graph.tasks()[task].name == name)
      return task;
  throw InternalError("there is no task " + name);
}

inline int edgeBetween(const TaskGraph &graph, const std::string &from, const std::string &to) {
  int head = taskNamed(graph, to);
  for (int edge : graph.edgesOutOf(taskNamed(graph, from)))
    if (graph.edges()[edge].to == head)
      return edge;
  throw InternalError("there is no edge from " + from + " to " + to);
}

/// The message of the Error that a call throws.
template <typename Call> std::string errorOf(Call call) {
  try {
    call();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

} // namespace headrace::explore::test
