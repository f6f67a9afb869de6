// A program's pieces with the operators of a machine that compute them.
#pragma once

#include "rewrite/accelerator/Mapping.h"
#include "target/coarse/view/ProgramView.h"

namespace headrace::coarse {

struct MappedPiece {
  Piece piece;
  rewrite::Mapping mapping;
};

struct MappedProgram {
  BatchAxis batch;
  std::vector<MappedPiece> pieces;
  /// Operators that have no form as a term, or that the machine cannot compute.
  std::vector<LeftOver> leftOver;
};

/// Whether operators that the machine cannot compute stay in their pieces, as terms that are left
/// over, or become boundaries of pieces.
enum class Unmapped { StaysInPiece, EndsPiece };

MappedProgram mapProgram(mlir::func::FuncOp entry, rewrite::Terms &terms,
                         const rewrite::Accelerator &machine, const rewrite::RuleSet &rules,
                         Unmapped unmapped, const rewrite::MappingOptions &options);

} // namespace headrace::coarse
