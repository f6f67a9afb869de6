// Exploration of models: their task graphs on arrays of processing elements.
#include "driver/Model.h"
#include "explore/search/ProgramExploration.h"
#include "runtime/system/Error.h"

#include "Bindings.h"
#include "Interpreter.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

using namespace explore;
using Sizes = std::vector<std::optional<int64_t>>;

template <class T>
T named(const std::string &what, const std::string &word, std::pair<const char *, T> first,
        std::pair<const char *, T> second) {
  for (auto [name, value] : {first, second})
    if (word == name)
      return value;
  throw Error(ErrorKind::InvalidArgument, what + ": expected '" + first.first + "' or '" +
                                              second.first + "', got '" + word + "'");
}

// The report as JSON.
std::string exploreModel(Model &model, const Sizes &sizes, const std::vector<int> &elements,
                         const std::string &granularity, const std::string &convention,
                         int64_t tasks, int search, bool simulate) {
  Granularity wanted = named<Granularity>("granularity", granularity, {"map", Granularity::Map},
                                          {"fused", Granularity::Fused});
  ExploreOptions options;
  options.processingElements = elements;
  options.tasks.convention = named<Convention>(
      "convention", convention, {"tight", Convention::Tight}, {"slide", Convention::Slide});
  options.tasks.maxTasks = tasks;
  options.evaluations = search;
  options.simulate = simulate;
  return unlocked([&] {
    std::vector<Exploration> found =
        exploreOperators(model.operators(wanted, sizes), options, ArrayMachine{});
    return explorationJson(found, options.tasks.convention);
  });
}

} // namespace

void registerExploration(nb::module_ &module) { module.def("explore", &exploreModel); }

} // namespace headrace::python
