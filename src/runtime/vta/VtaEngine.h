// The engine "vta": steps of a program run on the simulator, which checks all they do.
#pragma once

#include "runtime/program/Engine.h"

namespace headrace::vta {

const Engine &vtaEngine();

} // namespace headrace::vta
