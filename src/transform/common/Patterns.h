// Rewriting patterns that several passes share.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace headrace {

/// Transposes, reshapes, slices, pads and concatenations that move nothing, or move twice.
void populateMovementSimplifications(mlir::RewritePatternSet &patterns);
/// Maps: operands that are constant, broadcast, repeated or unused.
void populateMapSimplifications(mlir::RewritePatternSet &patterns);
/// Convolutions and poolings: parts of the window that only ever read padding.
void populateWindowSimplifications(mlir::RewritePatternSet &patterns);
/// Convolutions of spread images: phase by phase, without the zeros.
void populateWindowPhases(mlir::RewritePatternSet &patterns);
/// Contractions: 1x1 convolutions become one; transposes around one are absorbed.
void populateContractionSimplifications(mlir::RewritePatternSet &patterns);
/// The canonicalizations of every operation in use.
void populateCanonicalizations(mlir::RewritePatternSet &patterns);
/// Level 3: constant offsets and sizes of slices; part of the canonicalizations above.
void populateSliceConstantPatterns(mlir::RewritePatternSet &patterns);
/// Level 3: reads with a step become plain reads of a strided slice.
void populateSliceStridedOperandPatterns(mlir::RewritePatternSet &patterns);
/// Level 3: vectors are read from and written to tensors themselves, not to slices of them.
void populateSliceTransferPatterns(mlir::RewritePatternSet &patterns);

} // namespace headrace
