// The machine: an interpreter of loops. Addresses of its memory are not addresses of the process,
// so that a forgotten copy fails at once.
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"
#include "runtime/system/Json.h"

#include "Toy.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

namespace headrace::toy {

namespace {

constexpr uintptr_t offset = uintptr_t{1} << 62;

void *toAddress(void *memory) {
  return reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(memory) + offset);
}
template <class T> T *toMemory(T *address) {
  return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(address) - offset);
}

struct Function {
  const char *name;
  float (*compute)(float, float);
};

constexpr Function functions[] = {
    {"addf", [](float a, float b) { return a + b; }},
    {"subf", [](float a, float b) { return a - b; }},
    {"mulf", [](float a, float b) { return a * b; }},
    {"maximumf",
     [](float a, float b) { return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b); }},
    {"minimumf",
     [](float a, float b) { return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b); }},
    {"negf", [](float a, float) { return -a; }},
};

/// For tests of whoever looks for wrong results: HEADRACE_TOY_WRONG=mulf makes the toy compute that
/// function wrong.
bool isWrong(const std::string &name) {
  const char *chosen = std::getenv("HEADRACE_TOY_WRONG");
  return chosen && name == chosen;
}
float wrong(float a, float b) { return a - 2 * b + 0.5f; }

/// One kernel on these tensors.
class Interpreter {
public:
  Interpreter(const Kernel &kernel, std::span<const int64_t> symbols, std::vector<float *> operands)
      : kernel(kernel), symbols(symbols), tensors(std::move(operands)) {
    for (size_t i = tensors.size(); i < kernel.tensors.size(); ++i) {
      int64_t elements = 1;
      for (const DimExpr &dim : kernel.tensors[i])
        elements *= dim.evaluate(symbols);
      temporaries.emplace_back(static_cast<size_t>(elements));
      tensors.push_back(temporaries.back().data());
    }
  }

  void run() {
    for (const Loop &loop : kernel.loops) {
      bind(loop);
      nest(0);
    }
  }

private:
  /// An element that the loops walk.
  struct Walked {
    float *first;
    std::vector<int64_t> strides; // by loop
  };

  Walked walked(const Loop::Access &access, size_t loops) const {
    Walked result{tensors[static_cast<size_t>(access.tensor)], std::vector<int64_t>(loops)};
    const std::vector<DimExpr> &dims = kernel.tensors[static_cast<size_t>(access.tensor)];
    int64_t stride = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      if (access.dims[i] >= 0)
        result.strides[static_cast<size_t>(access.dims[i])] += stride;
      stride *= dims[i].evaluate(symbols);
    }
    return result;
  }

  void bind(const Loop &given) {
    loop = &given;
    size_t loops = given.sizes.size();
    sizes.clear();
    for (const DimExpr &size : given.sizes)
      sizes.push_back(size.evaluate(symbols));
    points.assign(loops, 0);
    elements.clear();
    for (const Loop::Access &read : given.reads)
      elements.push_back(walked(read, loops));
    elements.push_back(walked(given.write, loops));
    computed.clear();
    for (const Loop::Instruction &instruction : given.body)
      computed.push_back(isWrong(instruction.name) ? wrong : functionOf(instruction.name));
  }

  void nest(size_t depth) {
    if (depth == sizes.size())
      return compute();
    for (points[depth] = 0; points[depth] < sizes[depth]; ++points[depth])
      nest(depth + 1);
  }

  float &at(const Walked &element) const {
    int64_t index = 0;
    for (size_t i = 0; i < points.size(); ++i)
      index += points[i] * element.strides[i];
    return element.first[index];
  }

  void compute() {
    values.clear();
    for (const Walked &element : elements)
      values.push_back(at(element));
    for (size_t i = 0; i < computed.size(); ++i) {
      const Loop::Instruction &instruction = loop->body[i];
      auto argument = [&](int number) { return values[static_cast<size_t>(number)]; };
      values.push_back(computed[i] ? computed[i](argument(instruction.arguments.front()),
                                                 argument(instruction.arguments.back()))
                                   : static_cast<float>(instruction.value));
    }
    at(elements.back()) = values[static_cast<size_t>(loop->result)];
  }

  const Kernel &kernel;
  std::span<const int64_t> symbols;
  std::vector<std::vector<float>> temporaries;
  std::vector<float *> tensors;
  // of the current loop
  const Loop *loop = nullptr;
  std::vector<int64_t> sizes, points;
  std::vector<Walked> elements;                  // what is read, then what is written
  std::vector<float (*)(float, float)> computed; // null for constants
  std::vector<float> values;
};

class Session final : public EngineSession {
public:
  Session(const Program &program, const std::map<std::string, Kernel> &kernels)
      : program(program), kernels(kernels) {}

  std::shared_ptr<void> allocate(int64_t bytes, const char *what) override {
    std::shared_ptr<std::byte> memory = allocateAligned(static_cast<size_t>(bytes), what);
    return {memory, toAddress(memory.get())};
  }
  void copyIn(void *to, const void *from, int64_t bytes) override {
    std::memcpy(toMemory(to), from, static_cast<size_t>(bytes));
  }
  void copyOut(void *to, const void *from, int64_t bytes) override {
    std::memcpy(to, toMemory(from), static_cast<size_t>(bytes));
  }
  void run(size_t index, const EngineCall &call) override {
    const Step &step = program.steps[index];
    std::vector<float *> operands;
    for (int id : step.operands)
      operands.push_back(toMemory(static_cast<float *>(call.buffers[static_cast<size_t>(id)])));
    Interpreter(kernels.at(step.symbol), call.binding.symbols, std::move(operands)).run();
  }
  void finish(const EngineCall &) override {}

private:
  const Program &program;
  const std::map<std::string, Kernel> &kernels;
};

class LoadedProgram final : public EngineProgram {
public:
  LoadedProgram(const Program &program, const ProgramCode &code) : program(program) {
    for (const DeviceImage &image : code.images)
      kernels.emplace(image.name, fromText(image.text));
  }
  std::unique_ptr<EngineSession> begin() const override {
    return std::make_unique<Session>(program, kernels);
  }

private:
  const Program &program;
  std::map<std::string, Kernel> kernels;
};

class ToyEngine final : public Engine {
public:
  std::string_view name() const override { return "toy"; }
  std::string unsupportedReason(const ProcessorNeeds &) const override { return ""; }
  std::unique_ptr<const EngineProgram> load(const Program &program,
                                            const ProgramCode &code) const override {
    return std::make_unique<LoadedProgram>(program, code);
  }
};

Json toJson(const std::vector<DimExpr> &sizes) {
  Json json = Json::array();
  for (const DimExpr &size : sizes)
    json.push_back(size.str({}));
  return json;
}

std::vector<DimExpr> sizesFrom(const Json &json) {
  constexpr size_t maxSymbols = 64;
  std::vector<DimExpr> sizes;
  for (const Json &size : json)
    sizes.push_back(DimExpr::parse(text(size), maxSymbols));
  return sizes;
}

Json toJson(const Loop::Access &access) {
  return {{"tensor", access.tensor}, {"dims", access.dims}};
}

Loop::Access accessFrom(const Json &json) {
  return {json.at("tensor").get<int>(), json.at("dims").get<std::vector<int>>()};
}

} // namespace

float (*functionOf(const std::string &name))(float, float) {
  for (const Function &function : functions)
    if (function.name == name)
      return function.compute;
  return nullptr;
}

std::string toText(const Kernel &kernel) {
  Json json = {{"operands", kernel.operands}, {"tensors", Json::array()}, {"loops", Json::array()}};
  for (const std::vector<DimExpr> &sizes : kernel.tensors)
    json["tensors"].push_back(toJson(sizes));
  for (const Loop &loop : kernel.loops) {
    Json item = {{"sizes", toJson(loop.sizes)},
                 {"reads", Json::array()},
                 {"write", toJson(loop.write)},
                 {"body", Json::array()},
                 {"result", loop.result}};
    for (const Loop::Access &read : loop.reads)
      item["reads"].push_back(toJson(read));
    for (const Loop::Instruction &instruction : loop.body)
      item["body"].push_back({instruction.name, instruction.arguments, instruction.value});
    json["loops"].push_back(std::move(item));
  }
  return json.dump(1);
}

Kernel fromText(const std::string &code) {
  Json json = parseJson(code, "code of the toy");
  Kernel kernel;
  kernel.operands = json.at("operands").get<int>();
  for (const Json &sizes : list(json, "tensors"))
    kernel.tensors.push_back(sizesFrom(sizes));
  for (const Json &item : list(json, "loops")) {
    Loop &loop = kernel.loops.emplace_back();
    loop.sizes = sizesFrom(list(item, "sizes"));
    for (const Json &read : list(item, "reads"))
      loop.reads.push_back(accessFrom(read));
    loop.write = accessFrom(member(item, "write"));
    for (const Json &instruction : list(item, "body"))
      loop.body.push_back({text(instruction.at(0)), instruction.at(1).get<std::vector<int>>(),
                           instruction.at(2).get<double>()});
    loop.result = item.at("result").get<int>();
  }
  return kernel;
}

const Engine &engine() {
  static const ToyEngine one;
  return one;
}

} // namespace headrace::toy
