#include "target/cuda/schedule/ChooseSchedule.h"

#include "target/cuda/schedule/ProposeSchedule.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

/// Copying rows that do not begin at multiples of 16 bytes pays if the product takes much
/// longer.
bool readsWell(const Product &product) {
  constexpr int64_t kRowElements = 8, kMinCopied = 512;
  auto readsInPlace = [](OpOperand *operand) {
    return kernelShape(operand->get())->back().isMultipleOf(kRowElements);
  };
  auto isLarge = [&](ArrayRef<unsigned> loops) { return product.hintedSize(loops) >= kMinCopied; };
  return (readsInPlace(product.a) && readsInPlace(product.b)) ||
         (isLarge(product.m) && isLarge(product.n) && isLarge(product.k));
}

/// Products of fewer rows or columns are sums of rows.
bool fillsTiles(const Product &product) {
  constexpr int64_t kFewest = 16;
  return product.hintedSize(product.m) >= kFewest && product.hintedSize(product.n) >= kFewest;
}

class Chooser {
  using Kind = Schedule::Kind;

public:
  Chooser(func::FuncOp kernel, const DeviceTraits &device, const GivenSchedules &given)
      : kernel(kernel), device(device), given(given) {}

  std::string run() {
    for (const auto &[op, ignored] : given)
      choose(op);
    SmallVector<Operation *> results;
    kernel.walk([&](bufferization::MaterializeInDestinationOp store) {
      if (Operation *op = store.getSource().getDefiningOp())
        results.push_back(op);
    });
    for (Operation *op : results)
      choose(op);
    return refused.empty() ? illegal() : refused;
  }

private:
  void choose(Operation *op) {
    if (op->hasAttr(kScheduleAttr) || isa<tensor::EmptyOp>(op))
      return;
    const auto *wish = given.find(op);
    Kind kind = wish != given.end() ? wish->second.kind : kindFor(op);
    launchOperands(op, kind);
    // Reductions among its operands, now launched themselves, may have been the only obstacle.
    if (wish == given.end() && kind == Kind::Points && isColumns(op))
      kind = Kind::Columns;
    FormOrReason<Schedule> schedule =
        wish != given.end() ? propose(op, wish->second, device) : propose(op, kind, device);
    if (!schedule) {
      refuse(op, {"", schedule.reason});
      schedule = propose(op, Kind::Points, device);
    }
    op->setAttr(kScheduleAttr, schedule->attribute(op->getContext()));
  }

  /// The first given schedule that is not legal, now that all launches are known.
  std::string illegal() {
    for (const auto &[op, ignored] : given)
      if (auto refusal = refusalOf(op, *Schedule::of(op), device.hasWarpgroups))
        refuse(op, *refusal);
    return refused;
  }

  void refuse(Operation *op, const Unsupported &refusal) {
    if (refused.empty())
      refused = stageOf(op).str() + ": " + given.find(op)->second.text() +
                "': " + (refusal.parameter.empty() ? "" : refusal.parameter.str() + ": ") +
                refusal.reason;
  }

  Kind kindFor(Operation *op) const {
    if (std::optional<Kind> kind = asProduct(op))
      return *kind;
    if (isRows(op))
      return Kind::Rows;
    if (isColumns(op))
      return Kind::Columns;
    return isTiles(op) ? Kind::Tiles : Kind::Points;
  }

  /// Operands that are launched before: reductions on the way to points, and costly values that a
  /// reduction reads again and again.
  void launchOperands(Operation *op, Kind kind) {
    if (kind == Kind::Points) {
      for (const Read &read : readsOf(op, /*throughReductions=*/true).reductions) {
        Operation *reduction = read.value.getDefiningOp();
        if (reduction == op)
          continue;
        if (isWindowOfEachPoint(read.value, op))
          launchCostlyOperands(reduction);
        else
          choose(reduction);
      }
      launchCostlyOperands(op);
    } else if (isProduct(kind)) {
      if (std::optional<FusedProduct> fused = fusedProductOf(op))
        launchCostlyOperands(fused->product.op);
    }
  }

  /// Whether each point of `op` has a window of its own, which is reduced where it is read. Windows
  /// of products of channels go to tensor cores.
  bool isWindowOfEachPoint(Value reduction, Operation *op) const {
    auto generic = cast<linalg::GenericOp>(reduction.getDefiningOp());
    bool isRead = llvm::hasSingleElement(reduction.getUses());
    return isRead && isWindow(generic) && !asProduct(generic) &&
           kernelShape(reduction) == kernelShape(op->getResult(0));
  }

  /// Costly values that a reduction reads again and again are computed once.
  void launchCostlyOperands(Operation *op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || generic.getNumReductionLoops() == 0)
      return;
    for (OpOperand *operand : generic.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      AffineMap map = generic.getMatchingIndexingMap(operand);
      if (!producer || producer->hasAttr(kScheduleAttr) ||
          map.getNumResults() == generic.getNumLoops())
        continue;
      bool isCostly = llvm::any_of(producer.getBody()->without_terminator(), [](Operation &inner) {
        return isa<math::MathDialect>(inner.getDialect()) || isa<arith::DivFOp>(inner);
      });
      if (isCostly)
        choose(producer);
    }
  }

  std::optional<Kind> asProduct(Operation *op) const {
    FormOrReason<FusedProduct> fused = productOnThreads(op);
    if (!fused || !fillsTiles(fused->product))
      return std::nullopt;
    if (productOnWarpgroups(op, device.hasWarpgroups) && readsWell(fused->product))
      return Kind::Warpgroups;
    return productOnTensorCores(op) ? Kind::TensorCores : Kind::Product;
  }

  static bool isRows(Operation *op) {
    constexpr int64_t kFewRows = 64, kLongRow = 1 << 15;
    FormOrReason<RowForm> form = rowsOf(op);
    // Several blocks share each of a few long rows.
    bool areFew = form && constantSize(form->rows).value_or(kFewRows) < kFewRows &&
                  constantSize(form->columns).value_or(0) >= kLongRow;
    return form && !areFew;
  }

  /// Many elements to few.
  bool isColumns(Operation *op) const {
    FormOrReason<Schedule> schedule = propose(op, Kind::Columns, device);
    return schedule && (schedule->splits > 1 || schedule->lanes > 1);
  }

  /// Transposes of more than narrow strips.
  bool isTiles(Operation *op) const {
    constexpr int64_t kMinExtent = 8;
    FormOrReason<Schedule> schedule = propose(op, Kind::Tiles, device);
    if (!schedule)
      return false;
    SymbolicShape shape = *kernelShape(op->getResult(0));
    for (AffineExpr extent : {shape[schedule->along], shape.back()})
      if (constantSize(extent).value_or(kMinExtent) < kMinExtent)
        return false;
    return true;
  }

  func::FuncOp kernel;
  DeviceTraits device;
  const GivenSchedules &given;
  std::string refused; // the first that is not legal, and why
};

} // namespace

bool addsUpOnTensorCores(Operation *op) {
  FormOrReason<FusedProduct> fused = productOnTensorCores(op);
  return fused && fillsTiles(fused->product);
}

std::string chooseSchedules(func::FuncOp kernel, const DeviceTraits &device,
                            const GivenSchedules &given) {
  return Chooser(kernel, device, given).run();
}

} // namespace headrace::cuda
