#include "report/ExploreReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include <fmt/format.h>

namespace headrace::cli {

using explore::Exploration;
using explore::Outcome;

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

} // namespace headrace::cli
