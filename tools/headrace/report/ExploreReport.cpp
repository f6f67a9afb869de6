#include "report/ExploreReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include <fmt/format.h>

namespace headrace::cli {

using explore::Exploration;
using explore::Outcome;
using explore::Sequence;

using Align = Table::Align;

static void printOutcomes(const std::vector<Outcome> &outcomes) {
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
               {"at least"},
               {"", Align::Left}});
  for (const Outcome &outcome : outcomes)
    table.add(
        {outcome.implementation, std::to_string(outcome.schedule.options.processingElements),
         std::to_string(std::ranges::count_if(outcome.graph.tasks(), &explore::Task::computes)),
         std::to_string(outcome.schedule.blocks.size()),
         std::string(nameOf(outcome.schedule.options.partitioner)), std::to_string(outcome.offChip),
         std::to_string(outcome.buffers), std::to_string(outcome.schedule.makespan),
         !outcome.deadlock.empty() ? "deadlock"
         : outcome.simulated       ? std::to_string(*outcome.simulated)
                                   : "-",
         fmt::format("{:.2f}", outcome.speedup()),
         outcome.baseline ? std::to_string(*outcome.baseline) : "-",
         std::to_string(explore::lowerBound({}, outcome).cycles), outcome.pareto ? "Pareto" : ""});
  table.print(stdout);
}

/// What runs one after the other, and the sums.
static void printSequences(const std::vector<Sequence> &sequences) {
  Table table({{"part", Align::Left},
               {"PEs"},
               {"runs"},
               {"implementation", Align::Left},
               {"off-chip"},
               {"cycles"},
               {"at least"}});
  for (const Sequence &sequence : sequences) {
    auto add = [&](const Sequence::Part &part) {
      table.add({printable(part.name), std::to_string(sequence.processingElements),
                 std::to_string(part.runs), part.implementation, std::to_string(part.offChip),
                 std::to_string(part.cycles), std::to_string(part.lowerBound)});
    };
    for (const Sequence::Part &part : sequence.parts)
      add(part);
    add(sequence.total());
  }
  table.print(stdout);
}

void printExploration(const std::vector<Exploration> &explorations) {
  for (const Exploration &exploration : explorations) {
    fmt::print("{}{}\n", &exploration == &explorations.front() ? "" : "\n",
               printable(exploration.name));
    if (!exploration.outcomes.empty())
      printOutcomes(exploration.outcomes);
    if (!exploration.sequences.empty())
      printSequences(exploration.sequences);
    for (const std::string &remark : exploration.remarks)
      fmt::print("{}\n", printable(remark));
  }
}

} // namespace headrace::cli
