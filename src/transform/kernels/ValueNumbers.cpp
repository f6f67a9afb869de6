#include "transform/kernels/ValueNumbers.h"

#include "dialect/Hr.h"

using namespace mlir;

namespace headrace {

/// What stands in the place of a file's name in the location.
static constexpr StringLiteral kValues = "values", kParts = "parts";

static Location numbered(Location location, StringRef name, StringRef what, unsigned number) {
  MLIRContext *context = location.getContext();
  return NameLoc::get(StringAttr::get(context, name),
                      FileLineColLoc::get(context, what, number, 0));
}

static std::optional<int64_t> numberOf(Location location) {
  auto name = dyn_cast<NameLoc>(location);
  auto place = name ? dyn_cast<FileLineColLoc>(name.getChildLoc()) : FileLineColLoc();
  if (!place || place.getFilename() != kValues)
    return std::nullopt;
  return place.getLine();
}

void numberValues(func::FuncOp function) {
  unsigned number = 0;
  for (Operation &op : function.getBody().front())
    if (op.getNumResults() == 1 && !isa<hr::ConstantOp>(op))
      op.setLoc(numbered(op.getLoc(), operatorName(&op), kValues, number++));
}

void keepLastNumbers(func::FuncOp function) {
  llvm::DenseSet<int64_t> seen;
  for (Operation &op : llvm::reverse(function.getBody().front()))
    if (std::optional<int64_t> number = numberOf(op.getLoc());
        number && !seen.insert(*number).second)
      op.setLoc(NameLoc::get(cast<NameLoc>(op.getLoc()).getName()));
}

Location locationOf(OpResult result) {
  Operation *op = result.getOwner();
  auto fused = dyn_cast<FusedLoc>(op->getLoc());
  if (fused && fused.getLocations().size() == op->getNumResults())
    return fused.getLocations()[result.getResultNumber()];
  return op->getLoc();
}

std::optional<int64_t> valueNumber(OpResult result) {
  bool isOneOfSeveral =
      result.getOwner()->getNumResults() > 1 && !isa<FusedLoc>(result.getOwner()->getLoc());
  return isOneOfSeveral ? std::nullopt : numberOf(locationOf(result));
}

Location locationOfResults(ArrayRef<Location> results) {
  return FusedLoc::get(results.front().getContext(), results);
}

Location withoutNumber(Location location, unsigned index) {
  auto name = dyn_cast<NameLoc>(location);
  return numbered(location, name ? name.getName().getValue() : StringRef(), kParts, index);
}

} // namespace headrace
