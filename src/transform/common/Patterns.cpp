#include "transform/common/Patterns.h"

using namespace mlir;

namespace headrace {

void populateCanonicalizations(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    op.getCanonicalizationPatterns(patterns, context);
  populateSliceConstantPatterns(patterns);
}

} // namespace headrace
