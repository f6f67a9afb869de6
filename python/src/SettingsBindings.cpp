// The compiler's settings, given by name.
#include "driver/Settings.h"

#include "Bindings.h"
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

void registerSettings(nb::module_ &module) {
  const Settings defaults;
  nb::class_<Settings>(module, "Settings")
      .def(
          "__init__",
          [](Settings *settings, const std::string &target, const std::string &expansion,
             size_t planCacheSize, const std::string &recipe,
             const std::filesystem::path &accelerator, const std::string &program,
             const std::string &specialize, const std::vector<std::string> &givenInputs,
             const std::string &tuning) {
            new (settings) Settings;
            settings->target = target;
            settings->expansion = expansion;
            settings->planCacheSize = planCacheSize;
            settings->recipe = recipe;
            settings->accelerator = accelerator.string();
            settings->program = program;
            settings->specialize = specialize;
            settings->givenInputs = givenInputs;
            settings->tuning = tuning;
          },
          nb::kw_only(), nb::arg("target") = defaults.target,
          nb::arg("expansion") = defaults.expansion,
          nb::arg("plan_cache_size") = defaults.planCacheSize, nb::arg("recipe") = defaults.recipe,
          nb::arg("accelerator") = defaults.accelerator, nb::arg("program") = defaults.program,
          nb::arg("specialize") = defaults.specialize,
          nb::arg("given_inputs") = defaults.givenInputs, nb::arg("tuning") = defaults.tuning);
}

} // namespace headrace::python
