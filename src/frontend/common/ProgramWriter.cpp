#include "frontend/common/ProgramWriter.h"

#include "dialect/ExpectedSizes.h"
#include "dialect/Hr.h"
#include "runtime/system/Error.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace headrace {

ProgramWriter::ProgramWriter(MLIRContext &context, StringRef name, SizeRanges sizes)
    : builder(&context), symbols(&context, std::move(sizes)),
      handler(&context, [this](Diagnostic &diagnostic) {
        diagnostics = diagnostic.str();
        return success();
      }) {
  context.loadDialect<hr::HrDialect, func::FuncDialect>();
  Location loc = NameLoc::get(builder.getStringAttr(name));
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  function = builder.create<func::FuncOp>(loc, "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Value ProgramWriter::addInput(StringRef name, RankedTensorType type) {
  NamedAttribute named(builder.getStringAttr(kNameAttr), builder.getStringAttr(name));
  unsigned position = function.getNumArguments();
  function.insertArgument(position, type, builder.getDictionaryAttr(named),
                          NameLoc::get(builder.getStringAttr(name)));
  return function.getArgument(position);
}

void ProgramWriter::addOutput(StringRef name, Value value) {
  results.push_back(value);
  resultNames.push_back(name.str());
}

OwningOpRef<ModuleOp> ProgramWriter::finish() {
  builder.create<func::ReturnOp>(function.getLoc(), results);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(resultNames))
    function.setResultAttr(i, kNameAttr, builder.getStringAttr(name));
  SmallVector<StringRef> names(symbols.names().begin(), symbols.names().end());
  function->setAttr(kSymbolsAttr, builder.getStrArrayAttr(names));
  if (symbols.hasRanges()) {
    function->setAttr(kSymbolMinAttr, builder.getDenseI64ArrayAttr(symbols.minima()));
    function->setAttr(kSymbolMaxAttr, builder.getDenseI64ArrayAttr(symbols.maxima()));
  }
  if (llvm::any_of(symbols.expected(), [](int64_t size) { return size > 0; }))
    function->setAttr(kExpectedSizesAttr, builder.getDenseI64ArrayAttr(symbols.expected()));
  if (failed(verify(*module)))
    throw InternalError("the imported program is malformed: " + diagnostics);
  return std::move(module);
}

} // namespace headrace
