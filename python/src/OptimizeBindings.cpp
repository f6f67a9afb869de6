// Guided optimization: steps on a program's recipe. Lists and figures are JSON, which the Python
// file reads.
#include "Bindings.h"
#include "Interpreter.h"
#include "optimize/Blame.h"
#include "optimize/Measure.h"
#include "optimize/Optimizer.h"
#include "optimize/ReportJson.h"
#include "optimize/SavedSteps.h"
#include "optimize/Search.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

namespace nb = nanobind;

namespace headrace::python {

namespace {

using optimize::Optimizer;

std::string text(const nlohmann::ordered_json &json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::shared_ptr<Optimizer> makeOptimizer(std::shared_ptr<Model> model, const std::string &target,
                                         const std::string &recipe, const optimize::Sizes &sizes,
                                         std::optional<std::vector<std::string>> wrt) {
  Settings settings;
  settings.target = target;
  settings.recipe = recipe;
  return unlocked([&] {
    if (!wrt)
      return std::make_shared<Optimizer>(model, settings, sizes);
    GradientOptions gradient;
    gradient.wrt = *wrt;
    return std::make_shared<Optimizer>(model, settings, sizes, gradient);
  });
}

std::vector<double> measured(const Optimizer &optimizer, double seconds) {
  std::vector<std::string> recipes;
  for (size_t i = 0; i <= optimizer.position(); ++i)
    recipes.push_back(optimizer.states()[i].recipe);
  return optimizer.compiled(recipes)->microseconds(seconds * static_cast<double>(recipes.size()));
}

} // namespace

void registerOptimize(nb::module_ &module) {
  nb::class_<Optimizer>(module, "Optimizer")
      .def_prop_ro("recipe", [](const Optimizer &o) { return o.recipe(); })
      .def_prop_ro("figures", [](const Optimizer &o) { return text(optimize::json(o.figures())); })
      .def_prop_ro("history", [](const Optimizer &o) { return text(historyJson(o)); })
      .def("begin_unfused", [](Optimizer &o) { unlocked([&] { o.beginUnfused(); }); })
      .def("list",
           [](Optimizer &o, const std::string &verb) {
             return unlocked([&] { return text(optimize::json(o.list({}, verb))); });
           })
      .def("predict",
           [](Optimizer &o, const std::string &step) {
             return unlocked([&] { return text(optimize::json(o.predict(step))); });
           })
      .def("apply",
           [](Optimizer &o, const std::string &step) {
             return unlocked([&] { return text(optimize::json(o.apply(step))); });
           })
      .def("saved",
           [](const Optimizer &o, const std::string &title) { return savedRecipe(o, title); })
      .def("replay",
           [](Optimizer &o, const std::string &saved) {
             std::vector<std::pair<std::string, std::string>> refused;
             for (const optimize::RefusedStep &each :
                  unlocked([&] { return replaySteps(o, saved); }))
               refused.emplace_back(each.step, each.reason);
             return refused;
           })
      .def("undo", [](Optimizer &o) { return unlocked([&] { return o.undo(); }); })
      .def("redo", [](Optimizer &o) { return unlocked([&] { return o.redo(); }); })
      .def("greedy",
           [](Optimizer &o, size_t steps, double seconds) {
             unlocked([&] { optimizeGreedily(o, {steps, seconds, 0}); });
           })
      .def("search",
           [](Optimizer &o, size_t steps, double seconds, uint64_t seed) {
             unlocked([&] { searchSteps(o, {steps, seconds, seed}); });
           })
      .def("measure", [](Optimizer &o,
                         double seconds) { return unlocked([&] { return measured(o, seconds); }); })
      .def("blame", [](Optimizer &o, const std::string &recipe, double seconds) {
        return unlocked([&] { return text(optimize::json(blame(o, recipe, seconds))); });
      });
  module.def("optimizer", &makeOptimizer, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none());
  module.def("recipe_difference", &optimize::differenceBetween);
}

} // namespace headrace::python
