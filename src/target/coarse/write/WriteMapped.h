// Level 1: a program in the form in which an accelerator would compute it, for any target.
#pragma once

#include "mlir/Pass/Pass.h"

namespace headrace::coarse {

/// `file` is the path of the machine's description. Throws Error if the description is not valid.
std::unique_ptr<mlir::Pass> createWriteMappedPass(const std::string &file);

} // namespace headrace::coarse
