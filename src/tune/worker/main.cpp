// The measuring process: reads requests from its standard input, a line of JSON each, and answers
// each with a line. It runs code that nobody has run before, so that it may crash, hang or compute
// what it should not: whoever started it expects that (tune/measure/WorkerProcess.h).
//
//   {"package":"/tmp/1.hrpkg","reference":"/tmp/0.hrpkg","seed":1,"seconds":0.1}
//   {"us":12.1,"default_us":14.0,"cold_us":20.1,"default_cold_us":22.9}
//   {"wrong":"output 0: element 5: expected 1.0, got 2.0"}
//   {"failed":"/tmp/1.hrpkg: expected ..."}
#include "runtime/system/Json.h"

#include "tune/worker/KernelRunner.h"
#include <iostream>
#include <optional>

namespace headrace::tune {

namespace {

/// The kernel that candidates are compared with stays loaded from one request to the next.
class Worker {
public:
  Json answer(const Json &request) {
    std::string path = text(request, "reference");
    if (path != referencePath) {
      reference.reset();
      reference.emplace(path);
      reference->makeInputs(static_cast<uint64_t>(integer(request, "seed", 0)));
      reference->run();
      referencePath = path;
    }
    LoadedKernel kernel(text(request, "package"));
    kernel.takeInputs(*reference);
    kernel.run();
    std::string difference = differenceBetween(kernel.outputs(), reference->outputs());
    if (!difference.empty())
      return {{"wrong", difference}};
    Turns turns = timeInTurns(kernel, *reference, member(request, "seconds").get<double>());
    return {{"us", turns.warm},
            {"default_us", turns.warmOther},
            {"cold_us", turns.cold},
            {"default_cold_us", turns.coldOther}};
  }

private:
  std::string referencePath;
  std::optional<LoadedKernel> reference;
};

} // namespace

} // namespace headrace::tune

int main() {
  headrace::tune::Worker worker;
  std::string line;
  while (std::getline(std::cin, line)) {
    headrace::Json answer;
    try {
      answer = worker.answer(headrace::parseJson(line, "the request"));
    } catch (const std::exception &error) {
      answer = {{"failed", error.what()}};
    }
    std::cout << answer.dump(-1, ' ', false, headrace::Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}
