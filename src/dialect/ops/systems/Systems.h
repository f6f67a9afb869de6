// Operators on linear systems. They are separate from Hr.h, because few parts of the compiler
// ask for them.
#pragma once

#include "dialect/Hr.h"

#define GET_OP_CLASSES
#include "dialect/Systems.h.inc"
