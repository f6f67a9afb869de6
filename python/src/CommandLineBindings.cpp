// The command line inside the package: one copy of the compiler serves both, and `headrace` needs
// no second one.
#include "../../tools/headrace/CommandLine.h"
#include "Bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace headrace::python {

void registerCommandLine(nanobind::module_ &module) {
  module.def(
      "command_line",
      [](std::vector<std::string> words) {
        nanobind::gil_scoped_release release;
        std::vector<char *> pointers;
        for (std::string &word : words)
          pointers.push_back(word.data());
        int count = static_cast<int>(pointers.size());
        pointers.push_back(nullptr);
        return cli::runCommandLine(count, pointers.data());
      },
      nanobind::arg("words"));
}

} // namespace headrace::python
