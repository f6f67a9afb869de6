// Before, for a machine with MVMul, VVAdd and VVRelu:
//   %0 = hr.contract %x, %w ; %1 = hr.map(%0, %b) { addf } ; %2 = hr.map(%1) { maximumf 0 }
//   %3 = hr.softmax %2
// After:
//   module @k_relu attributes {hr.target = "coarse:FILE", coarse.code = "..."}
//   %2 = hr.launch @k_relu(%w, %x, %b)
//   %3 = hr.softmax %2
#include "target/coarse/OffloadOperators.h"

#include "dialect/SymbolicShape.h"
#include "rewrite/engine/Code.h"
#include "runtime/system/Error.h"
#include "target/Placement.h"
#include "target/coarse/FoundMappings.h"
#include "transform/kernels/KernelSymbol.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace headrace::coarse {

namespace {

/// "8 MVMul[64, 64], 2 VVRelu[64]"
std::string operationsText(const rewrite::Mapping &mapping) {
  std::string text;
  for (const auto &[name, count] : mapping.operations)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return text;
}

/// Bytes read, bytes written, operations, and bytes that the operators would move besides.
AffineMap costOf(const Piece &piece, ValueRange operands) {
  MLIRContext *context = piece.root()->getContext();
  auto bytes = [](Value value) { return byteCount(cast<RankedTensorType>(value.getType())); };
  AffineExpr read = constantDim(0, context), operations = read, moved = read;
  AffineExpr written = bytes(piece.root()->getResult(0));
  for (Value operand : operands)
    read = normalized(read + bytes(operand));
  for (Operation *op : piece.operators) {
    operations =
        normalized(operations + cast<hr::OperatorInterface>(op).getMovement().operations(context));
    if (op != piece.root()) // once written, and read at least once
      moved = normalized(moved + bytes(op->getResult(0)) * 2);
  }
  return symbolMap({read, written, operations, moved}, context);
}

struct OffloadOperatorsPass : PassWrapper<OffloadOperatorsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OffloadOperatorsPass)
  OffloadOperatorsPass(std::string target, const rewrite::Accelerator &machine,
                       std::string description)
      : target(std::move(target)), machine(machine), description(std::move(description)) {}

  void runOnOperation() override {
    for (auto entry : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      try {
        withMappedProgram(entry, machine, description,
                          [&](const MappedProgram &program, const rewrite::Terms &terms) {
                            for (const MappedPiece &piece : program.pieces)
                              take(piece, program.batch, terms);
                            noteReasons(program.leftOver);
                          });
      } catch (const Error &error) {
        entry.emitError(error.what());
        return signalPassFailure();
      }
    }
  }

private:
  void take(const MappedPiece &mapped, const BatchAxis &batch, const rewrite::Terms &terms) {
    const Piece &piece = mapped.piece;
    Operation *root = piece.root();
    Location loc = root->getLoc();
    OpBuilder b(root);
    std::string name = operatorName(root);
    SmallVector<Value> operands = taken.inputsOf(piece);
    llvm::erase(operands, Value()); // numbers are part of the code
    SmallVector<Attribute> operators;
    for (Operation *op : piece.operators)
      if (StringAttr part = b.getStringAttr(operatorName(op)); !llvm::is_contained(operators, part))
        operators.push_back(part);
    ModuleOp kernel = ModuleOp::create(loc, kernelSymbol(name));
    kernel->setAttr(kTargetAttr, b.getStringAttr(target));
    kernel->setAttr(kCodeAttr, b.getStringAttr(codeOf(mapped, batch, terms)));
    kernel->setAttr(kKindAttr, b.getStringAttr("intrinsics"));
    kernel->setAttr(kLoopsAttr, b.getStringAttr(operationsText(mapped.mapping)));
    SymbolTable(getOperation()).insert(kernel); // makes the name unique
    auto launch = b.create<hr::LaunchOp>(loc, root->getResultTypes(), operands,
                                         FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
                                         b.getStringAttr(name), b.getArrayAttr(operators),
                                         AffineMapAttr::get(costOf(piece, operands)));
    taken.replace(piece, launch->getResult(0));
  }

  std::string codeOf(const MappedPiece &mapped, const BatchAxis &batch,
                     const rewrite::Terms &terms) const {
    rewrite::CoarseCode code;
    code.machine = description;
    code.term = mapped.mapping.term;
    bool leads = batch.leads(mapped.piece.root()->getResult(0));
    code.batch = leads ? toDimExpr(batch.size()) : DimExpr::constant(1);
    for (const PieceInput &input : mapped.piece.inputs)
      code.inputs.push_back({input.name, input.shape,
                             input.value ? std::nullopt : std::optional(input.number),
                             input.leads});
    return rewrite::toText(code, terms);
  }

  void noteReasons(ArrayRef<LeftOver> leftOver) {
    // Parts of one coarse operator have its name.
    llvm::MapVector<StringAttr, std::string> reasons;
    Builder b(&getContext());
    for (const LeftOver &left : leftOver) {
      std::string &all = reasons[b.getStringAttr(operatorName(left.op))];
      if (!StringRef(all).contains(left.reason))
        all += (all.empty() ? "" : "; ") + left.reason;
    }
    NamedAttrList attributes;
    for (auto &[name, reason] : reasons)
      attributes.set(name, b.getStringAttr(reason));
    getOperation()->setAttr(kReasonsAttr, attributes.getDictionary(&getContext()));
  }

  std::string target;
  const rewrite::Accelerator &machine;
  std::string description;
  ReplacedPieces taken;
};

} // namespace

std::unique_ptr<Pass> createOffloadOperatorsPass(const std::string &target,
                                                 const rewrite::Accelerator &machine,
                                                 const std::string &description) {
  return std::make_unique<OffloadOperatorsPass>(target, machine, description);
}

} // namespace headrace::coarse
