// The engine of accelerators with intrinsics of their own: an interpreter, whose numbers are the
// machine's.
#pragma once

#include "runtime/program/Engine.h"

namespace headrace::rewrite {

/// "coarse"
const Engine &coarseEngine();

} // namespace headrace::rewrite
