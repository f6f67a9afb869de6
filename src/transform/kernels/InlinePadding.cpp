// Level 2: windows read what is around an image as they go, instead of an image with it.
//
//   %p = hr.kernel "pad" (%x) { tensor.pad %x }
//   %y = hr.kernel "conv" (%p, %w) { linalg.generic of windows of %p, %w }
// becomes
//   %y = hr.kernel "conv" (%x, %w) { %p = tensor.pad %x ; linalg.generic of windows of %p, %w }
//
// Why: an image less is written and read. On a device, what is not launched is computed where it is
// read: a comparison for each element of a window.
// When it hurts: products of channels, which read each element for all of their columns; the depth
// of their windows is more than a few elements.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "transform/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_INLINEPADDINGPASS
#include "transform/Passes.h.inc"

namespace {

constexpr int64_t kMaxWindow = 64; // elements

/// The padding that is all a kernel computes; null if it computes anything else.
tensor::PadOp paddingOf(hr::KernelOp kernel) {
  if (kernel->getNumResults() != 1 || kernel.getInputs().size() != 1)
    return {};
  Block &body = kernel.getBody().front();
  auto pad = body.getTerminator()->getOperand(0).getDefiningOp<tensor::PadOp>();
  if (!pad || pad.getSource() != body.getArgument(0))
    return {};
  bool isAll = llvm::all_of(body.without_terminator(), [&](Operation &op) {
    return &op == pad || op.hasTrait<OpTrait::ConstantLike>();
  });
  return isAll ? pad : tensor::PadOp();
}

/// Whether the operation reduces windows of few elements.
bool hasSmallWindows(linalg::GenericOp op) {
  int64_t elements = 1;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (auto [size, type] : llvm::zip_equal(sizes, op.getIteratorTypesArray())) {
    if (type != utils::IteratorType::reduction)
      continue;
    if (ShapedType::isDynamic(size) || size > kMaxWindow)
      return false;
    elements *= size;
  }
  return op.getNumReductionLoops() > 0 && elements <= kMaxWindow;
}

bool readsInWindows(hr::KernelOp kernel, Value image) {
  for (auto [input, argument] :
       llvm::zip_equal(kernel.getInputs(), kernel.getBody().front().getArguments())) {
    if (input != image)
      continue;
    bool inWindows = llvm::all_of(argument.getUsers(), [](Operation *user) {
      auto generic = dyn_cast<linalg::GenericOp>(user);
      return generic && hasSmallWindows(generic);
    });
    if (!inWindows)
      return false;
  }
  return true;
}

/// Cost maps are bytes read, bytes written, operations, and maybe bytes saved.
AffineMap costOfBoth(AffineMap cost, AffineMap padding) {
  SmallVector<AffineExpr> results(cost.getResults());
  results[0] = results[0] - padding.getResult(1) + padding.getResult(0);
  return AffineMap::get(cost.getNumDims(), cost.getNumSymbols(), results, cost.getContext());
}

void inlinePadding(hr::KernelOp padding, tensor::PadOp pad, hr::KernelOp reader) {
  OpBuilder b(reader);
  Block &body = reader.getBody().front();
  for (unsigned i = 0; i < reader.getInputs().size(); ++i) {
    if (reader.getInputs()[i] != padding.getResult(0))
      continue;
    BlockArgument padded = body.getArgument(i);
    Value image = padding.getInputs()[0];
    BlockArgument argument = body.insertArgument(i, pad.getSource().getType(), padded.getLoc());
    padded = body.getArgument(i + 1);
    IRMapping mapping;
    mapping.map(pad.getSource(), argument);
    b.setInsertionPointToStart(&body);
    for (Operation &op : padding.getBody().front().without_terminator())
      b.clone(op, mapping);
    padded.replaceAllUsesWith(mapping.lookup(pad.getResult()));
    body.eraseArgument(i + 1);
    reader.getInputsMutable()[i].assign(image);
  }
  SmallVector<Attribute> operators;
  for (ArrayAttr each : {padding.getOperators(), reader.getOperators()})
    for (Attribute name : each)
      if (!llvm::is_contained(operators, name))
        operators.push_back(name);
  reader.setOperatorsAttr(b.getArrayAttr(operators));
  reader.setCostAttr(AffineMapAttr::get(costOfBoth(reader.getCost(), padding.getCost())));
}

struct InlinePaddingPass : impl::InlinePaddingPassBase<InlinePaddingPass> {
  void runOnOperation() override {
    SmallVector<hr::KernelOp> kernels(getOperation().getOps<hr::KernelOp>());
    for (hr::KernelOp kernel : kernels) {
      tensor::PadOp pad = paddingOf(kernel);
      if (!pad || kernel->use_empty())
        continue;
      llvm::SmallSetVector<Operation *, 2> readers(kernel->user_begin(), kernel->user_end());
      bool inlined = llvm::all_of(readers, [&](Operation *user) {
        auto reader = dyn_cast<hr::KernelOp>(user);
        return reader && readsInWindows(reader, kernel.getResult(0));
      });
      if (!inlined)
        continue;
      for (Operation *reader : readers)
        inlinePadding(kernel, pad, cast<hr::KernelOp>(reader));
      kernel.erase();
    }
  }
};

} // namespace
} // namespace headrace
