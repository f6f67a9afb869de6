// Schedules of tensor expressions, for headrace's Python files.
#include "driver/programs/DeclareIntrinsic.h"
#include "driver/schedule/LaunchSchedule.h"
#include "driver/schedule/ProgramSchedule.h"
#include "runtime/system/Error.h"

#include "Bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

RecipeStep::Kind kindNamed(const std::string &name) {
  using Kind = RecipeStep::Kind;
  static constexpr std::pair<const char *, Kind> kinds[] = {{"split", Kind::Split},
                                                            {"tile", Kind::Tile},
                                                            {"reorder", Kind::Reorder},
                                                            {"fuse", Kind::Fuse},
                                                            {"parallel", Kind::Parallel},
                                                            {"unroll", Kind::Unroll},
                                                            {"vectorize", Kind::Vectorize},
                                                            {"cache_read", Kind::CacheRead},
                                                            {"cache_write", Kind::CacheWrite},
                                                            {"compute_at", Kind::ComputeAt},
                                                            {"pack", Kind::Pack},
                                                            {"prefetch", Kind::Prefetch},
                                                            {"tensorize", Kind::Tensorize}};
  for (auto [known, kind] : kinds)
    if (name == known)
      return kind;
  throw InternalError("no step of recipes is called " + name);
}

void applyStep(ProgramSchedule &schedule, const std::string &kind, const std::string &stage,
               const std::string &target, const std::vector<std::string> &axes,
               const std::vector<int64_t> &sizes, const std::vector<std::string> &names) {
  schedule.apply(RecipeStep{kindNamed(kind), stage, target, axes, sizes, names, 0});
}

} // namespace

void registerSchedules(nb::module_ &module) {
  module.def("declare_intrinsic",
             [](const std::string &name, const expr::Stage &stage, const std::string &library,
                const std::string &symbol) { declareIntrinsic(name, stage, library, symbol); });
  nb::class_<ProgramSchedule>(module, "Schedule")
      .def(nb::init<const std::vector<expr::Stage> &>())
      .def("apply_step", &applyStep)
      .def("apply_text",
           [](ProgramSchedule &schedule, const std::string &text) { schedule.apply(text); })
      .def_prop_ro("recipe", &ProgramSchedule::recipe)
      .def_prop_ro("stages", &ProgramSchedule::stages)
      .def("loops", &ProgramSchedule::loops)
      .def("summary", &ProgramSchedule::summary);
  nb::class_<LaunchSchedule>(module, "LaunchSchedule")
      .def(nb::init<std::vector<expr::Stage>, std::string>())
      .def("apply_text", &LaunchSchedule::apply)
      .def_prop_ro("recipe", &LaunchSchedule::recipe)
      .def_prop_ro("target", &LaunchSchedule::target)
      .def_prop_ro("stages", &LaunchSchedule::stages)
      .def("launch_of", &LaunchSchedule::launchOf);
}

} // namespace headrace::python
