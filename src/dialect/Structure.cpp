// Kernels and launches: what holds at the boundary between levels 1 and 2.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

using namespace mlir;

namespace headrace::hr {

LogicalResult KernelOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInputs().size())
    return emitOpError("expected one argument per input, got ") << body.getNumArguments();
  for (auto [input, argument] : llvm::zip(getInputs(), body.getArguments()))
    if (plainType(input.getType()) != argument.getType())
      return emitOpError("expected an argument of type ")
             << plainType(input.getType()) << ", got " << argument.getType();
  Operation *yield = body.getTerminator();
  if (yield->getNumOperands() != getNumResults())
    return emitOpError("expected ")
           << getNumResults() << " yielded values, got " << yield->getNumOperands();
  for (auto [value, type] : llvm::zip(yield->getOperands(), getResultTypes()))
    if (value.getType() != plainType(type))
      return emitOpError("expected to yield ") << plainType(type) << ", got " << value.getType();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom(*this, getKernelAttr()))
    return emitOpError("names an unknown kernel ") << getKernelAttr();
  return success();
}

} // namespace headrace::hr
