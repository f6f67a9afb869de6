#include "runtime/cuda/FakeDevice.h"

#include <cstring>

namespace headrace::cuda {
namespace {

// Device functions; arguments are those of the tests' programs.

template <class T> T *at(const Work &work, size_t i) {
  return reinterpret_cast<T *>(work.words[i]);
}

/// x, y, n: y = x + 1
void addOne(const Work &work) {
  for (uint64_t i = 0; i < work.words[2]; ++i)
    at<float>(work, 1)[i] = at<const float>(work, 0)[i] + 1;
}

/// a, b, y, n: y = a * b
void multiply(const Work &work) {
  for (uint64_t i = 0; i < work.words[3]; ++i)
    at<float>(work, 2)[i] = at<const float>(work, 0)[i] * at<const float>(work, 1)[i];
}

/// workspace, x, n: workspace[0] = sum of x
void partial(const Work &work) {
  float sum = 0;
  for (uint64_t i = 0; i < work.words[2]; ++i)
    sum += at<const float>(work, 1)[i];
  at<float>(work, 0)[0] = sum;
}

/// workspace, y: y[0] = workspace[0]
void finish(const Work &work) { at<float>(work, 1)[0] = at<const float>(work, 0)[0]; }

/// map, y: y[0 .. 7] = the words of the map (see cuTensorMapEncodeTiled)
void showMap(const Work &work) {
  for (size_t i = 0; i < 8; ++i)
    at<int64_t>(work, 1)[i] = static_cast<int64_t>(work.maps[0].words[i + 1]);
}

/// data, record, count, low, high, mode, excepted (runtime/cuda/Checks.cpp)
void checkIndices(const Work &work) {
  auto *record = at<int64_t>(work, 1);
  auto low = static_cast<int64_t>(work.words[3]), high = static_cast<int64_t>(work.words[4]);
  auto except = static_cast<int64_t>(work.words[6]);
  for (uint64_t i = 0; i < work.words[2] && i < static_cast<uint64_t>(record[0]); ++i) {
    int64_t value = at<const int64_t>(work, 0)[i];
    bool isBad = work.words[5] & 1 ? value == 0 : value < low || value >= high;
    if (!isBad || (work.words[5] & 2 && value == except))
      continue;
    for (auto [word, written] :
         {std::pair(1, value), std::pair(2, low), std::pair(3, high),
          std::pair(4, static_cast<int64_t>(work.words[2])), std::pair(0, static_cast<int64_t>(i))})
      record[word] = written;
  }
}

struct Known {
  const char *name;
  int parameters;
  uint32_t maps;
  void (*body)(const Work &);
};
constexpr Known knownFunctions[] = {
    {"add_one", 3, 0, addOne},   {"multiply", 4, 0, multiply},
    {"partial", 3, 0, partial},  {"finish", 2, 0, finish},
    {"show_map", 2, 1, showMap}, {"headrace_check_i64", 7, 0, checkIndices}};

} // namespace

Function findFunction(Module module, const std::string &name) {
  for (const auto &found : module->functions)
    if (found->name == name)
      return found.get();
  for (const Known &known : knownFunctions)
    if (known.name == name) {
      module->functions.push_back(std::make_unique<FunctionRecord>(
          FunctionRecord{name, known.parameters, known.maps, known.body}));
      return module->functions.back().get();
    }
  return nullptr;
}

Work makeWork(Function function, void **parameters) {
  Work work;
  work.function = function;
  for (int i = 0; i < function->parameters; ++i) {
    uint64_t word = 0;
    TensorMap map{};
    if (function->mapParameters >> i & 1)
      std::memcpy(&map, parameters[i], sizeof map);
    else
      std::memcpy(&word, parameters[i], sizeof word);
    work.words.push_back(word);
    work.maps.push_back(map);
  }
  return work;
}

void run(const Work &work) {
  if (work.function)
    work.function->body(work);
  else
    work.other();
}

StreamRecord &streamOf(Stream stream) {
  static StreamRecord defaultStream;
  return reinterpret_cast<uintptr_t>(stream) > 2 ? *stream : defaultStream;
}

void submit(Stream given, Work work) {
  StreamRecord &stream = streamOf(given);
  if (!stream.recording)
    return run(work);
  stream.recording->nodes.push_back(std::make_shared<GraphNodeRecord>());
  stream.recording->nodes.back()->work = std::move(work);
  stream.last = stream.recording->nodes.back().get();
}

} // namespace headrace::cuda
