// Recipes of contractions, convolutions and windows: a register tile carried over the reduction.
#pragma once

#include "target/cpu/recipe/RecipeDraft.h"

namespace headrace {

/// Writes the steps for the draft's only reduction; false where it cannot be cut into such tiles.
bool chooseTiles(RecipeDraft &draft);

} // namespace headrace
