// Tensor expressions as a program ready to be called; no MLIR header.
#pragma once

#include "driver/Model.h"
#include "frontend/expr/Stage.h"

namespace headrace {

/// A model whose inputs are the placeholders that `outputs` depend on, in order of making. Compiles
/// nothing yet. Throws Error.
std::shared_ptr<Model> makeModel(const std::vector<expr::Stage> &outputs, const std::string &name,
                                 const Settings &settings = {});

} // namespace headrace
