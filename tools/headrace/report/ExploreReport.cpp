#include "report/ExploreReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

using explore::Outcome;
using Json = nlohmann::ordered_json;

void printExploration(const std::vector<Exploration> &explorations) {
  using Align = Table::Align;
  for (const Exploration &exploration : explorations) {
    fmt::print("{}{}\n", &exploration == &explorations.front() ? "" : "\n",
               printable(exploration.name));
    Table table({{"implementation", Align::Left},
                 {"PEs"},
                 {"tasks"},
                 {"blocks"},
                 {"by", Align::Left},
                 {"off-chip"},
                 {"buffers"},
                 {"makespan"},
                 {"simulated"},
                 {"speedup"},
                 {"no streams"},
                 {"", Align::Left}});
    for (const Outcome &outcome : exploration.outcomes)
      table.add(
          {outcome.implementation, std::to_string(outcome.schedule.options.processingElements),
           std::to_string(std::ranges::count_if(outcome.graph.tasks(), &explore::Task::computes)),
           std::to_string(outcome.schedule.blocks.size()),
           std::string(nameOf(outcome.schedule.options.partitioner)),
           std::to_string(outcome.offChip), std::to_string(outcome.buffers),
           std::to_string(outcome.schedule.makespan),
           !outcome.deadlock.empty() ? "deadlock"
           : outcome.simulated       ? std::to_string(*outcome.simulated)
                                     : "-",
           fmt::format("{:.2f}", outcome.speedup()), std::to_string(outcome.baseline),
           outcome.pareto ? "Pareto" : ""});
    table.print(stdout);
    for (const std::string &remark : exploration.remarks)
      fmt::print("{}\n", printable(remark));
  }
}

std::string exploreJson(const std::vector<Exploration> &explorations,
                        const std::string &convention) {
  Json list = Json::array();
  for (const Exploration &exploration : explorations) {
    Json outcomes = Json::array();
    for (const Outcome &outcome : exploration.outcomes) {
      const explore::Schedule &schedule = outcome.schedule;
      Json entry = {{"implementation", outcome.implementation},
                    {"processing_elements", schedule.options.processingElements},
                    {"partitioner", nameOf(schedule.options.partitioner)},
                    {"blocks", schedule.blocks.size()},
                    {"work", outcome.work},
                    {"off_chip", outcome.offChip},
                    {"buffers", outcome.buffers},
                    {"makespan", schedule.makespan},
                    {"bound", schedule.bound},
                    {"simulated", outcome.simulated ? Json(*outcome.simulated) : Json()},
                    {"deadlock", outcome.deadlock},
                    {"speedup", outcome.speedup()},
                    {"streaming_ratio", outcome.streamingRatio},
                    {"without_streams", outcome.baseline},
                    {"pareto", outcome.pareto}};
      Json tasks = Json::array();
      for (int i = 0; i < outcome.graph.size(); ++i) {
        const explore::Task &task = outcome.graph.tasks()[i];
        const explore::ScheduledTask &times = schedule.tasks[i];
        tasks.push_back({{"name", task.name},
                         {"kind", task.kindName()},
                         {"operators", task.operators},
                         {"place", task.place},
                         {"input", task.input},
                         {"output", task.output},
                         {"block", times.block},
                         {"processing_element", times.processingElement},
                         {"start", times.start},
                         {"first_output", times.firstOutput},
                         {"end", times.end}});
      }
      entry["tasks"] = std::move(tasks);
      outcomes.push_back(std::move(entry));
    }
    list.push_back({{"name", exploration.name}, {"outcomes", std::move(outcomes)}});
  }
  return jsonText({{"convention", convention}, {"explorations", std::move(list)}});
}

} // namespace headrace::cli
