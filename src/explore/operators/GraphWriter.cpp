#include "explore/operators/GraphWriter.h"

#include <set>

namespace headrace::explore {

GraphWriter::GraphWriter(std::string name) {
  graph.name = std::move(name);
  graph.add({"source", TaskKind::Source, 0, 0, {}, ""});
}

void GraphWriter::beginOperator(const std::string &name, std::vector<std::string> operators,
                                std::string place) {
  prefix = name;
  for (int number = 1; !prefixes.insert(prefix).second; ++number)
    prefix = name + "." + std::to_string(number);
  operatorNames = std::move(operators);
  operatorPlace = std::move(place);
}

Stream GraphWriter::add(const std::string &part, TaskKind kind, const std::vector<Stream> &from,
                        int64_t reads, int64_t writes, int64_t points) {
  std::set<int> inputs, senders;
  for (const Stream &stream : from)
    if (stream.isInput())
      inputs.insert(stream.input);
  int number = graph.add({prefix + "." + part, kind, reads, writes, operatorNames, operatorPlace,
                          points, std::max(1, static_cast<int>(inputs.size()))});
  // A stream that is read twice is there once.
  for (const Stream &stream : from)
    if (senders.insert(stream.task).second)
      graph.connect(stream.task, number);
  return {number, writes};
}

TaskGraph GraphWriter::finish(const std::vector<Stream> &results) {
  int sink = graph.add({"sink", TaskKind::Sink, 0, 0, {}, ""});
  std::set<int> senders;
  for (const Stream &result : results)
    if (senders.insert(result.task).second)
      graph.connect(result.task, sink);
  graph.validate();
  return std::move(graph);
}

} // namespace headrace::explore
