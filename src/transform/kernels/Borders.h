// Padding inside a kernel: the one that computes an image writes it into the middle of the padded
// one and fills the padding itself, so that padding moves nothing.
//
//   %y = hr.map(%x) { relu } ; %p = hr.pad %y ; %z = hr.conv %p ; %s = hr.map(%y, %z) { addf }
// becomes
//   %p = hr.kernel { linalg.generic { relu } ; tensor.pad } ; %z = hr.conv %p ;
//   %s = hr.map(hr.slice %p, %z) { addf }
//
// When it hurts: what reads the image without its padding reads it in rows, not as one piece, and
// so are its loops.
#pragma once

#include "transform/choices/Choices.h"
#include "transform/choices/FusionDecision.h"

#include "llvm/ADT/SetVector.h"

namespace headrace {

using Borders = llvm::SetVector<mlir::Operation *>; // of `hr.pad`

/// The pads that the kernels of what they pad may write, unless the recipe separates them. Others
/// that read what is padded read the middle of the padded image from here on.
Borders shareBorders(mlir::func::FuncOp program, Choices &choices);

} // namespace headrace
