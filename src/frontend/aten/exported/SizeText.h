// Sizes as text: "Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(-1))".
#pragma once

#include "frontend/aten/Value.h"

#include <functional>

namespace headrace::aten {

/// `symbol` gives the dimension of a name. Throws Error if the text is not such an expression, or
/// has functions that programs do not have.
Size sizeFromText(GraphBuilder &builder, const std::string &text,
                  const std::function<Size(const std::string &)> &symbol);

} // namespace headrace::aten
