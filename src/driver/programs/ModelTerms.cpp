#include "driver/programs/ModelTerms.h"

#include "driver/LevelOneProgram.h"
#include "driver/Phases.h"
#include "driver/RunPasses.h"
#include "driver/Specialize.h"
#include "runtime/system/ForkSafety.h"
#include "target/coarse/MapPieces.h"

using namespace mlir;

namespace headrace {

ModelMapping mapModel(const std::filesystem::path &path, const SizesFor &sizesFor,
                      rewrite::Terms &terms, const rewrite::Accelerator &machine,
                      const rewrite::RuleSet &rules, const rewrite::MappingOptions &options) {
  Settings settings;
  LevelOneProgram program = importFile(path, settings);
  CompilerSection section;
  std::vector<std::string> symbols;
  for (const Symbol &symbol : program.interface().symbols)
    symbols.push_back(symbol.name);
  OwningOpRef<ModuleOp> module = specializeProgram(*program.module, sizesFor(symbols));
  runPhases(compilerPhases(settings), *module, program.name, "simplify");
  coarse::Mappings mappings;
  coarse::MappedProgram mapped = coarse::mapProgram(
      entryFunction(*module), terms, machine, coarse::Unmapped::StaysInPiece,
      [&](rewrite::TermId term) { return mapToMachine(terms, term, machine, rules, options); },
      mappings);
  ModelMapping result;
  for (coarse::MappedPiece &piece : mapped.pieces) {
    ModelMapping::Piece &added = result.pieces.emplace_back();
    added.name = operatorName(piece.piece.root());
    for (Operation *op : piece.piece.operators)
      added.operators.push_back(operatorName(op));
    added.mapping = std::move(piece.mapping);
  }
  for (const coarse::LeftOver &left : mapped.leftOver)
    result.leftOver.push_back({operatorName(left.op), left.reason});
  return result;
}

} // namespace headrace
