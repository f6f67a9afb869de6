#pragma once

#include "runtime/Explanation.h"

#include "Sizes.h"

namespace headrace::cli {

void printTables(const Explanation &explanation, const Sizes &sizes);
void printJson(const Explanation &explanation, const Sizes &sizes);

} // namespace headrace::cli
