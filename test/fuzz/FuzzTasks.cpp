// Any text as a task graph, or as operators given by their sizes: read, scheduled, tried out.
#include "explore/graph/Measures.h"
#include "explore/graph/TaskGraphFile.h"
#include "explore/operators/SizedProgram.h"
#include "explore/search/ProgramExploration.h"
#include "runtime/system/Error.h"

#include <cstdlib>

using namespace headrace;
using namespace headrace::explore;

namespace {

constexpr int64_t maxVolume = 1 << 16; // what is tried out in no time

void require(bool holds) {
  if (!holds)
    std::abort();
}

void tryOut(const TaskGraph &graph) {
  if (graph.size() > 256 || totalVolume(graph) > maxVolume)
    return;
  Outcome outcome = evaluate("", graph, 1 + graph.size() % 7, {});
  require(outcome.deadlock.empty());
  require(*outcome.simulated <= outcome.schedule.bound);
  require(outcome.schedule.makespan >= streamingCriticalPath(graph));
  require(outcome.schedule.makespan * outcome.processingElements() >= outcome.work);
}

void tryOut(const OperatorGraph &program) {
  for (const Operator &op : program.operators)
    if (op.points > maxVolume || op.output > maxVolume || op.contraction.k > maxVolume)
      return;
  for (Form form : {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector}) {
    std::vector<Form> forms(program.operators.size(), form);
    TaskGraph graph = taskGraphOf(program, forms, {Convention::Tight, /*maxTasks=*/16});
    int64_t points = 0;
    for (const Task &task : graph.tasks())
      points += task.points;
    require(points == pointsOf(program, forms));
    tryOut(graph);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  try {
    if (isSizedProgram(text))
      tryOut(parseSizedProgram(text, "fuzz.json"));
    else
      tryOut(parseTaskGraph(text, "fuzz.json"));
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): what most inputs end in
  }
  return 0;
}
