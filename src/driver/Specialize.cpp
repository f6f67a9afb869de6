#include "driver/Specialize.h"

#include "dialect/ExpectedSizes.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "runtime/system/Error.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace headrace {

/// Names and ranges of the symbols that stay open.
static void dropFixedSymbols(func::FuncOp function, ArrayRef<std::optional<int64_t>> values) {
  if (auto names = function->getAttrOfType<ArrayAttr>(kSymbolsAttr)) {
    SmallVector<Attribute> kept;
    for (auto [name, value] : llvm::zip(names, values))
      if (!value)
        kept.push_back(name);
    function->setAttr(kSymbolsAttr, ArrayAttr::get(function.getContext(), kept));
  }
  for (StringRef key :
       {StringRef(kSymbolMinAttr), StringRef(kSymbolMaxAttr), StringRef(kExpectedSizesAttr)})
    if (auto bounds = function->getAttrOfType<DenseI64ArrayAttr>(key)) {
      SmallVector<int64_t> kept;
      for (auto [bound, value] : llvm::zip(bounds.asArrayRef(), values))
        if (!value)
          kept.push_back(bound);
      function->setAttr(key, DenseI64ArrayAttr::get(function.getContext(), kept));
    }
}

OwningOpRef<ModuleOp> specializeProgram(ModuleOp program, ArrayRef<std::optional<int64_t>> values) {
  OwningOpRef<ModuleOp> copy = program.clone();
  if (llvm::none_of(values, [](auto &value) { return value.has_value(); }))
    return copy;
  MLIRContext *context = program.getContext();
  SmallVector<AffineExpr> replacements;
  unsigned open = 0;
  for (const std::optional<int64_t> &value : values)
    replacements.push_back(value ? constantDim(*value, context)
                                 : getAffineSymbolExpr(open++, context));

  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    if (!type.getEncoding())
      return std::nullopt;
    SymbolicShape dims;
    for (AffineExpr dim : shapeOf(type))
      dims.push_back(dim.replaceSymbols(replacements));
    return std::pair(tensorType(dims, type.getElementType()), WalkResult::skip());
  });
  // Sizes and slice starts are maps of symbols alone.
  replacer.addReplacement([&](AffineMapAttr attr) -> std::optional<Attribute> {
    AffineMap map = attr.getValue();
    if (map.getNumDims() != 0 || map.getNumSymbols() == 0)
      return std::nullopt;
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : map.getResults())
      exprs.push_back(expr.replaceSymbols(replacements));
    AffineMap replaced = symbolMap(exprs, context);
    return AffineMapAttr::get(simplifyAffineMap(replaced));
  });
  replacer.recursivelyReplaceElementsIn(*copy, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);

  copy->walk([&](func::FuncOp function) { dropFixedSymbols(function, values); });
  if (failed(verify(*copy)))
    throw InternalError("a program does not hold for sizes within its range");
  return copy;
}

} // namespace headrace
