#pragma once

#include "driver/Explanation.h"

#include "Sizes.h"

namespace headrace::cli {

void printTables(const Explanation &explanation, const Sizes &sizes);
/// The recipe of every kernel, as text that can be edited.
void printRecipes(const Explanation &explanation);
void printJson(const Explanation &explanation, const Sizes &sizes);

} // namespace headrace::cli
