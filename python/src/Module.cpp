// The extension module headrace._core: the driver's Model and tensor expressions for the Python
// files next to it, which give it its public face.
#include "Bindings.h"
#include "Interpreter.h"

NB_MODULE(_core, module) {
  module.attr("__version__") = HEADRACE_VERSION;
  // Expressions and programs that live until the interpreter ends are not leaks.
  nanobind::set_leak_warnings(false);
  headrace::python::registerErrors();
  headrace::python::registerEnd(module);
  headrace::python::registerDeviceArrays(module);
  headrace::python::registerSettings(module);
  headrace::python::registerModel(module);
  headrace::python::registerScript(module);
  headrace::python::registerMatrices(module);
  headrace::python::registerExploration(module);
  headrace::python::registerQuantize(module);
  headrace::python::registerOptimize(module);
  headrace::python::registerTune(module);
  headrace::python::registerVerify(module);
  headrace::python::registerExpressions(module);
  headrace::python::registerGraph(module);
  headrace::python::registerSchedules(module);
  headrace::python::registerCommandLine(module);
}
