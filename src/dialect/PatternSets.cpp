#include "dialect/PatternSets.h"

#include "dialect/Hr.h"

using namespace mlir;

namespace headrace {

static FrozenRewritePatternSet make(MLIRContext *context, PatternSets::Populate populate) {
  RewritePatternSet patterns(context);
  populate(patterns);
  return std::move(patterns);
}

FrozenRewritePatternSet PatternSets::get(MLIRContext *context, StringRef name, Populate populate) {
  auto *dialect = context->getLoadedDialect<hr::HrDialect>();
  if (!dialect)
    return make(context, populate);
  auto *kept = dialect->getRegisteredInterface<PatternSets>();
  std::pair key(name.str(), context->getLoadedDialects().size());
  std::lock_guard lock(kept->mutex);
  auto found = kept->sets.find(key);
  if (found == kept->sets.end())
    found = kept->sets.emplace(std::move(key), make(context, populate)).first;
  return found->second; // shares the patterns
}

} // namespace headrace
