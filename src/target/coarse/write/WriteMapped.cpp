// Before, for a machine with MVMul[64, 64] and VVAdd[64]:
//   %0 = hr.contract %x, %w : (tensor<1x60xf32>, tensor<64x60xf32>)
//   %1 = hr.map(%0, %b) { addf }
//   %2 = hr.softmax %1
// After:
//   %3 = hr.pad %w ; %4 = hr.pad %x
//   %5 = hr.contract %3, %4 : (tensor<64x64xf32>, tensor<1x64xf32>)
//   %6 = hr.map(%5, %b) { addf }
//   %2 = hr.softmax %6
//
// It pays if tiles, paddings and the choice between forms of a convolution that suit the machine
// suit the target, too; else the target's own choices are better. Operators that the machine cannot
// compute stay as they are.
#include "target/coarse/write/WriteMapped.h"

#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"
#include "target/coarse/FoundMappings.h"
#include "target/coarse/write/TermWriter.h"

using namespace mlir;

namespace headrace::coarse {

namespace {

struct WriteMappedPass : PassWrapper<WriteMappedPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WriteMappedPass)
  WriteMappedPass(const rewrite::Accelerator &machine, std::string description)
      : machine(machine), description(std::move(description)) {}

  void runOnOperation() override {
    for (auto entry : getOperation().getOps<func::FuncOp>())
      try {
        withMappedProgram(entry, machine, description, write);
      } catch (const std::exception &error) {
        entry.emitError(error.what());
        return signalPassFailure();
      }
  }

private:
  static void write(const MappedProgram &program, const rewrite::Terms &terms) {
    ReplacedPieces written;
    for (const MappedPiece &mapped : program.pieces) {
      OpBuilder b(mapped.piece.root());
      SmallVector<Value> inputs = written.inputsOf(mapped.piece);
      written.replace(mapped.piece, writeTerm(b, mapped, inputs, program.batch, terms));
    }
  }

  rewrite::Accelerator machine;
  std::string description;
};

} // namespace

std::unique_ptr<Pass> createWriteMappedPass(const std::string &file) {
  auto mapped = MappedFile::open(file);
  std::string text(reinterpret_cast<const char *>(mapped->data()), mapped->size());
  return std::make_unique<WriteMappedPass>(rewrite::Accelerator::parse(text, file), text);
}

} // namespace headrace::coarse
