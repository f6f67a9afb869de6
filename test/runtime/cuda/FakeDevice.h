// The device of the fake driver: what its handles stand for, and the functions it can launch.
#pragma once

#include "runtime/cuda/Driver.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace::cuda {

/// A unit of work in a stream or a graph.
struct Work {
  Function function = nullptr; // null if it is not a launch
  std::vector<uint64_t> words; // arguments
  std::vector<TensorMap> maps; // by argument
  std::function<void()> other;
};

struct FunctionRecord {
  std::string name;
  int parameters = 0;
  uint32_t mapParameters = 0; // a bit each
  void (*body)(const Work &) = nullptr;
  int sharedLimit = 48 << 10;
};
struct ModuleRecord {
  std::vector<std::unique_ptr<FunctionRecord>> functions;
};
struct GraphNodeRecord {
  Work work;
};
struct GraphRecord {
  std::vector<std::shared_ptr<GraphNodeRecord>> nodes;
};
struct GraphExecRecord {
  std::vector<std::shared_ptr<GraphNodeRecord>> originals; // to find nodes by
  std::vector<Work> work;
};
struct StreamRecord {
  Graph recording = nullptr;
  GraphNode last = nullptr;
};
struct EventRecord {
  int recorded = 0;
};
struct LinkRecord {
  std::string text, code;
};
struct ContextRecord {};
struct PoolRecord {};

/// Makes the device function of that name part of the module; null if there is none.
Function findFunction(Module module, const std::string &name);
/// A launch of the function with these arguments.
Work makeWork(Function function, void **parameters);
void run(const Work &work);
/// Does the work at once, or makes it a node of the graph that the stream records.
void submit(Stream stream, Work work);
/// 0, 1 and 2 are default streams.
StreamRecord &streamOf(Stream stream);

} // namespace headrace::cuda
