#include "explore/graph/TaskGraphFile.h"

#include "runtime/system/Error.h"
#include "runtime/system/Json.h"
#include "runtime/system/MappedFile.h"
#include "runtime/system/Text.h"

#include <unordered_map>

namespace headrace::explore {

namespace {

void checkKeys(const Json &object, std::initializer_list<std::string_view> known) {
  if (!object.is_object())
    throw JsonFault("expected an object, got " + std::string(object.type_name()));
  for (const auto &[key, value] : object.items())
    if (std::ranges::find(known, key) == known.end())
      throw JsonFault("there is no key " + inQuotes(key));
}

std::string textOr(const Json &object, const char *name, std::string absent) {
  return object.contains(name) ? text(object, name) : std::move(absent);
}

bool isPlace(TaskKind kind) { return kind == TaskKind::Source || kind == TaskKind::Sink; }

TaskKind kindOf(const std::string &word) {
  if (word == "source")
    return TaskKind::Source;
  if (word == "sink")
    return TaskKind::Sink;
  if (word == "buffer")
    return TaskKind::Buffer;
  if (word == "task" || word == "element-wise" || word == "downsampler" || word == "upsampler")
    return TaskKind::Compute;
  throw JsonFault("expected the kind source, sink, buffer, task, element-wise, downsampler or "
                  "upsampler, got " +
                  inQuotes(word));
}

Task taskOf(const Json &json) {
  checkKeys(json, {"name", "kind", "input", "output", "operators", "place"});
  Task task;
  task.name = text(json, "name");
  try {
    std::string kind = textOr(json, "kind", "task");
    task.kind = kindOf(kind);
    if (!isPlace(task.kind) || json.contains("input"))
      task.input = integer(json, "input");
    if (!isPlace(task.kind) || json.contains("output"))
      task.output = integer(json, "output");
    if (task.computes() && kind != "task" && kind != task.kindName())
      throw JsonFault("expected " +
                      std::string(kind == "upsampler"     ? "output > input"
                                  : kind == "downsampler" ? "output < input"
                                                          : "output = input") +
                      " of the kind " + kind + ", got an input of " + std::to_string(task.input) +
                      " and an output of " + std::to_string(task.output));
    if (json.contains("operators"))
      for (const Json &name : list(json, "operators"))
        task.operators.push_back(text(name));
    task.place = textOr(json, "place", "");
  } catch (const JsonFault &fault) {
    throw JsonFault("task " + inQuotes(task.name) + ": " + fault.what());
  }
  return task;
}

TaskGraph graphOf(const Json &json) {
  checkKeys(json, {"name", "tasks", "edges"});
  TaskGraph graph;
  graph.name = textOr(json, "name", "");
  std::unordered_map<std::string, int> numbers;
  for (const Json &entry : list(json, "tasks")) {
    Task task = taskOf(entry);
    numbers.emplace(task.name, graph.size());
    graph.add(std::move(task));
  }
  auto numberOf = [&](const Json &name) {
    auto found = numbers.find(text(name));
    if (found == numbers.end())
      throw JsonFault("edges: there is no task " + inQuotes(text(name)));
    return found->second;
  };
  for (const Json &edge : list(json, "edges")) {
    if (!edge.is_array() || edge.size() != 2)
      throw JsonFault("edges: expected pairs of tasks' names, got " +
                      escaped(edge.dump(-1, ' ', false, Json::error_handler_t::replace)));
    graph.connect(numberOf(edge[0]), numberOf(edge[1]));
  }
  return graph;
}

} // namespace

TaskGraph readTaskGraph(const std::filesystem::path &path) {
  auto file = MappedFile::open(path);
  TaskGraph graph =
      parseTaskGraph({reinterpret_cast<const char *>(file->data()), file->size()}, path.string());
  if (graph.name.empty())
    graph.name = path.stem().string();
  return graph;
}

TaskGraph parseTaskGraph(std::string_view text, const std::string &source) {
  try {
    TaskGraph graph = graphOf(parseJson(text, "the text"));
    graph.validate();
    return graph;
  } catch (const JsonFault &fault) {
    throw Error(ErrorKind::InvalidFile, escaped(source) + ": " + fault.what());
  } catch (const Error &error) {
    throw Error(ErrorKind::InvalidFile, escaped(source) + ": " + error.what());
  }
}

std::string taskGraphText(const TaskGraph &graph) {
  Json tasks = Json::array(), edges = Json::array();
  for (const Task &task : graph.tasks()) {
    Json entry = {{"name", task.name}, {"kind", task.kindName()}};
    if (!isPlace(task.kind)) {
      entry["input"] = task.input;
      entry["output"] = task.output;
    }
    if (!task.operators.empty())
      entry["operators"] = task.operators;
    if (!task.place.empty())
      entry["place"] = task.place;
    tasks.push_back(std::move(entry));
  }
  for (const Edge &edge : graph.edges())
    edges.push_back({graph.tasks()[edge.from].name, graph.tasks()[edge.to].name});
  Json document = {{"name", graph.name}, {"tasks", std::move(tasks)}, {"edges", std::move(edges)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace headrace::explore
