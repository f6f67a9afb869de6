// The extension module headrace._core: the driver's Model and tensor expressions for the Python
// files beside it, which give it its public face.
#include "Bindings.h"

NB_MODULE(_core, module) {
  module.attr("__version__") = HEADRACE_VERSION;
  headrace::python::registerErrors();
  headrace::python::registerModel(module);
  headrace::python::registerScript(module);
  headrace::python::registerExpressions(module);
}
