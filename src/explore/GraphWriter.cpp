#include "explore/GraphWriter.h"

namespace headrace::explore {

GraphWriter::GraphWriter(std::string name, int64_t volume) : inputVolume(volume) {
  graph.name = std::move(name);
  graph.add({"source", TaskKind::Source, 0, 0, {}, ""});
}

void GraphWriter::beginOperator(std::string name, std::string place) {
  operatorName = std::move(name);
  operatorPlace = std::move(place);
}

Stream GraphWriter::add(const std::string &part, TaskKind kind, const std::vector<Stream> &from,
                        int64_t reads, int64_t writes) {
  int number =
      graph.add({operatorName + "." + part, kind, reads, writes, {operatorName}, operatorPlace});
  for (const Stream &stream : from)
    graph.connect(stream.task, number);
  return {number, writes};
}

TaskGraph GraphWriter::finish(const Stream &result) {
  graph.connect(result.task, graph.add({"sink", TaskKind::Sink, 0, 0, {}, ""}));
  graph.validate();
  return std::move(graph);
}

} // namespace headrace::explore
