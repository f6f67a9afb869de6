// Sets of rewriting patterns that passes apply to one kernel after the other. Making one takes
// longer than applying it to a small kernel: a context keeps each.
#pragma once

#include "mlir/IR/DialectInterface.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

#include <map>
#include <mutex>

namespace headrace {

class PatternSets : public mlir::DialectInterface::Base<PatternSets> {
public:
  explicit PatternSets(mlir::Dialect *dialect) : Base(dialect) {}

  using Populate = llvm::function_ref<void(mlir::RewritePatternSet &)>;

  /// The patterns that `populate` adds, always the same for one name. They may depend on the
  /// dialects that are loaded: with more of them the set is made again.
  static mlir::FrozenRewritePatternSet get(mlir::MLIRContext *context, llvm::StringRef name,
                                           Populate populate);

private:
  std::mutex mutex;
  std::map<std::pair<std::string, size_t>, mlir::FrozenRewritePatternSet> sets;
};

} // namespace headrace
