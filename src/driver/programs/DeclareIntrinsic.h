// Intrinsics declared by tensor expressions; no MLIR header.
#pragma once

#include "frontend/expr/Stage.h"

namespace headrace {

/// From now on recipes may say `tensorize ... with NAME`: it computes `stage`, a single stage over
/// placeholders of constant sizes. `symbol` of `library`, a shared library as dlopen finds it, is
/// the function that does (transform/recipe/Intrinsic.h says how it is called); it may be the name
/// of the intrinsic itself. Without a library, code is generated from the expression. Throws Error.
void declareIntrinsic(const std::string &name, const expr::Stage &stage,
                      const std::string &library = "", const std::string &symbol = "");

} // namespace headrace
