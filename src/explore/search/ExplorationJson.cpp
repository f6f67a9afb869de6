#include "explore/graph/Measures.h"
#include "explore/search/ProgramExploration.h"

#include <nlohmann/json.hpp>

namespace headrace::explore {

using Json = nlohmann::ordered_json;

static Json tasksOf(const Outcome &outcome) {
  Json tasks = Json::array();
  for (int i = 0; i < outcome.graph.size(); ++i) {
    const Task &task = outcome.graph.tasks()[i];
    const ScheduledTask &times = outcome.schedule.tasks[i];
    tasks.push_back({{"name", task.name},
                     {"kind", task.kindName()},
                     {"operators", task.operators},
                     {"place", task.place},
                     {"input", task.input},
                     {"output", task.output},
                     {"points", task.points},
                     {"block", times.block},
                     {"processing_element", times.processingElement},
                     {"start", times.start},
                     {"first_output", times.firstOutput},
                     {"end", times.end}});
  }
  return tasks;
}

// Streams with their intervals, in cycles from element to element, and buffers; other edges wait.
static Json edgesOf(const Outcome &outcome) {
  Json edges = Json::array();
  for (size_t i = 0; i < outcome.graph.edges().size(); ++i) {
    const Edge &edge = outcome.graph.edges()[i];
    const ScheduledEdge &scheduled = outcome.schedule.edges[i];
    Json entry = {{"from", outcome.graph.tasks()[edge.from].name},
                  {"to", outcome.graph.tasks()[edge.to].name},
                  {"elements", outcome.graph.weight(static_cast<int>(i))},
                  {"streams", scheduled.streams}};
    if (scheduled.streams) {
      entry["interval"] = scheduled.interval.text();
      entry["buffer"] = scheduled.capacity;
    }
    edges.push_back(std::move(entry));
  }
  return edges;
}

static Json outcomeOf(const Outcome &outcome) {
  const Schedule &schedule = outcome.schedule;
  return {{"implementation", outcome.implementation},
          {"forms", outcome.forms},
          {"processing_elements", outcome.processingElements()},
          {"partitioner", nameOf(schedule.options.partitioner)},
          {"blocks", schedule.blocks.size()},
          {"work", outcome.work},
          {"critical_path", outcome.criticalPath},
          {"least_off_chip", outcome.minOffChip},
          {"depth", streamingDepth(outcome.graph)},
          {"off_chip", outcome.offChip},
          {"buffers", outcome.buffers},
          {"makespan", schedule.makespan},
          {"bound", schedule.bound},
          {"simulated", outcome.simulated ? Json(*outcome.simulated) : Json()},
          {"deadlock", outcome.deadlock},
          {"speedup", outcome.speedup()},
          {"streaming_ratio", outcome.streamingRatio},
          {"without_streams", outcome.baseline ? Json(*outcome.baseline) : Json()},
          {"off_chip_without_streams", outcome.baselineOffChip},
          {"pareto", outcome.pareto},
          {"tasks", tasksOf(outcome)},
          {"edges", edgesOf(outcome)}};
}

static Json partOf(const Sequence::Part &part) {
  return {{"name", part.name},        {"implementation", part.implementation},
          {"runs", part.runs},        {"cycles", part.cycles},
          {"off_chip", part.offChip}, {"lower_bound", part.lowerBound}};
}

// Of each number of processing elements: what runs one after the other.
static Json sequencesOf(const Exploration &exploration) {
  Json sequences = Json::array();
  for (const Sequence &sequence : exploration.sequences) {
    Json parts = Json::array();
    for (const Sequence::Part &part : sequence.parts)
      parts.push_back(partOf(part));
    sequences.push_back({{"processing_elements", sequence.processingElements},
                         {"parts", std::move(parts)},
                         {"total", partOf(sequence.total())}});
  }
  return sequences;
}

std::string explorationJson(const std::vector<Exploration> &explorations, Convention convention) {
  Json list = Json::array();
  for (const Exploration &exploration : explorations) {
    Json outcomes = Json::array();
    for (const Outcome &outcome : exploration.outcomes)
      outcomes.push_back(outcomeOf(outcome));
    list.push_back({{"name", exploration.name},
                    {"remarks", exploration.remarks},
                    {"outcomes", std::move(outcomes)},
                    {"sequences", sequencesOf(exploration)}});
  }
  Json report = {{"convention", nameOf(convention)}, {"explorations", std::move(list)}};
  // Names come from users' files, and need not be UTF-8.
  return report.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace headrace::explore
