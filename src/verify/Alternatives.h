// Other ways to compile a model, by which a wrong choice of the compiler is found.
#pragma once

#include "driver/Model.h"

#include <string>
#include <vector>

namespace headrace::verify {

/// Settings under which one kind of choice is another one than the compiler's.
struct Alternative {
  std::string name;
  Settings settings;
};

/// Alternatives to the settings of a model; `recipe` has the choices that the compiler made.
std::vector<Alternative> alternatives(const Settings &settings, const std::string &recipe);

} // namespace headrace::verify
