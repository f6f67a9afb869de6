// Reductions of tuples. They are separate from Hr.h, because few parts of the compiler ask for
// them.
#pragma once

#include "dialect/Hr.h"

#define GET_OP_CLASSES
#include "dialect/Folds.h.inc"
