// Mappings that compilations share. A search takes seconds, and versions of a program for other
// sizes or CPUs have the same terms: each is searched once in a process. Its results are kept
// in the user's cache, for processes of the same build.
#pragma once

#include "target/coarse/MapPieces.h"

namespace headrace::coarse {

/// Maps the program by the shipped rules; what the machine cannot compute ends pieces.
/// `description` is the text of its file. Terms live as long as `use` runs, one thread at a time.
void withMappedProgram(mlir::func::FuncOp entry, const rewrite::Accelerator &machine,
                       const std::string &description,
                       llvm::function_ref<void(const MappedProgram &, const rewrite::Terms &)> use);

} // namespace headrace::coarse
