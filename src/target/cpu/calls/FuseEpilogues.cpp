// Level 1: int8 matmuls whose sums become bytes take along what makes them so, and functions
// of those bytes as tables.
//
// Before:
//   %s = hr.library "int8.gemm" (%a, %w)              // %w is constant
//   %q = hr.map(%s, %bias) { round(f32(s + bias) * 0.02 / 0.3) as i8 }
//   %p = hr.pad %q
// After:
//   %p = hr.library "int8.finished_gemm" (%a, columns of %w in panels, numbers of the finish)
//
// Why: sums are four times as large as bytes, and would be written and read again; a kernel of
// their own reads them from an outer cache and has loops of its own for few columns.
// When it hurts: on CPUs without 512-bit vectors, for which the routines have no code of
// their own.
#include "dialect/ConstantData.h"
#include "dialect/SymbolicShape.h"
#include "runtime/library/ByteDepthwise.h"
#include "target/cpu/Passes.h"
#include "target/cpu/calls/MatchEpilogue.h"
#include "target/cpu/calls/MatchTable.h"
#include "target/cpu/expansion/Patches.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUFUSEEPILOGUESPASS
#include "target/cpu/Passes.h.inc"

namespace {

constexpr unsigned kBatch = 0, kColumns = 2, kDepth = 3, kTransA = 4, kTransB = 5, kStrideB = 7,
                   kUnsignedA = 12, kUnsignedB = 13, kPatches = 14;

/// Whether the routine can take a finish: one product with constant weights.
bool canFinish(hr::LibraryOp call) {
  StringRef routine = call.getRoutine();
  if (routine != "int8.gemm" && routine != "int8.conv")
    return false;
  auto number = [&](unsigned i) { return constantValue(call.getParameters().getResult(i)); };
  return number(kBatch) == 1 && number(kTransA) == 0 && number(kStrideB) == 0 && number(kColumns) &&
         number(kDepth) && call.getInputs()[1].getDefiningOp<hr::ConstantOp>();
}

Value asConstant(OpBuilder &b, Location loc, const Tensor &bytes) {
  auto type = RankedTensorType::get(bytes.shape(), b.getI8Type());
  return b.create<hr::ConstantOp>(loc, type, tensorAttribute(bytes, type));
}

Value packedWeights(hr::LibraryOp call, OpBuilder &b) {
  ArrayRef<AffineExpr> p = call.getParameters().getResults();
  auto number = [&](unsigned i) { return *constantValue(p[i]); };
  ByteProduct product{Gemm::of(0, number(kColumns), number(kDepth), false, number(kTransB)),
                      number(kUnsignedA) != 0, number(kUnsignedB) != 0};
  if (call.getRoutine() == "int8.conv") {
    // Packing asks for the runs of a window only; sizes of images may be open.
    SmallVector<int64_t> parameters;
    for (AffineExpr expr : p.drop_front(kPatches))
      parameters.push_back(constantValue(expr).value_or(1));
    product.patches = BytePatches::of(parameters);
    product.padsRuns = true;
  }
  auto constant = call.getInputs()[1].getDefiningOp<hr::ConstantOp>();
  return asConstant(b, constant.getLoc(),
                    packedColumns(product, constantTensor(constant.getValue()).as<uint8_t>()));
}

/// The padding around the bytes, if one is all that reads them and rows can be written inside.
hr::PadOp borderOf(Value bytes) {
  auto pad = bytes.hasOneUse() ? dyn_cast<hr::PadOp>(*bytes.getUsers().begin()) : hr::PadOp();
  if (!pad)
    return {};
  size_t rank = shapeOf(bytes).size();
  auto isNegative = [](int64_t size) { return size < 0; };
  bool isAround = rank >= 3 && rank - 2 <= BytePlaces::rank && pad.getLow().front() == 0 &&
                  pad.getHigh().front() == 0 && pad.getLow().back() == 0 &&
                  pad.getHigh().back() == 0;
  return isAround && llvm::none_of(pad.getLow(), isNegative) &&
                 llvm::none_of(pad.getHigh(), isNegative)
             ? pad
             : hr::PadOp();
}

/// The members of BytePlaces.
SmallVector<AffineExpr> placesOf(Value bytes, hr::PadOp pad) {
  MLIRContext *context = bytes.getContext();
  SymbolicShape shape = shapeOf(bytes);
  auto number = [&](int64_t value) { return constantDim(value, context); };
  SmallVector<AffineExpr> size(BytePlaces::rank, number(1)), low(BytePlaces::rank, number(0)),
      high = low;
  if (pad)
    for (size_t spatial = shape.size() - 2, i = 0; i < spatial; ++i) {
      size_t to = BytePlaces::rank - spatial + i;
      size[to] = shape[1 + i];
      low[to] = number(pad.getLow()[1 + i]);
      high[to] = number(pad.getHigh()[1 + i]);
    }
  SmallVector<AffineExpr> places = size;
  llvm::append_range(places, low);
  llvm::append_range(places, high);
  int64_t border = pad ? cast<IntegerAttr>(pad.getValue()).getValue().getZExtValue() : 0;
  places.push_back(number(border & 0xff));
  return places;
}

/// A convolution in which each channel has a constant filter of its own.
bool isDepthwise(hr::ConvOp op) {
  auto ofBytes = [](Value value) { return getElementTypeOrSelf(value).isSignlessInteger(8); };
  SymbolicShape image = shapeOf(op.getInput()), filter = shapeOf(op.getFilter());
  size_t spatial = filter.size() - 2;
  return ofBytes(op.getInput()) && ofBytes(op.getFilter()) &&
         op.getLayout() == hr::ChannelLayout::Last && !op.isPadded() &&
         spatial <= BytePatches::rank && op.getFilter().getDefiningOp<hr::ConstantOp>() &&
         constantValue(image.back()) == op.getGroups() &&
         constantValue(filter.back()) == op.getGroups() && constantValue(filter[spatial]) == 1;
}

/// The finish of sums, and a table for functions of the bytes after it.
std::optional<MatchedFinish> matchAll(Value sums) {
  std::optional<MatchedFinish> matched = matchFinish(sums);
  if (!matched)
    return matched;
  if (std::optional<MatchedTable> looked = matchTable(matched->result)) {
    matched->finish.form |= Int8Epilogue::LooksUp;
    matched->finish.table = looked->table;
    matched->result = looked->result;
    llvm::append_range(matched->maps, looked->maps);
  }
  return matched;
}

/// A routine that takes along what follows it.
struct Finishable {
  StringRef routine;
  Operation *op; // that computes the sums
  Value image, weights;
  SmallVector<AffineExpr> parameters;
  AffineExpr operations;
  std::string name;
  SmallVector<Attribute> operators;
};

Finishable finishable(hr::LibraryOp call, OpBuilder &b) {
  return {call.getRoutine().drop_front(StringRef("int8.").size()),
          call,
          call.getInputs()[0],
          packedWeights(call, b),
          SmallVector<AffineExpr>(call.getParameters().getResults()),
          call.getCost().getResult(2),
          call.getName().str(),
          SmallVector<Attribute>(call.getOperators().begin(), call.getOperators().end())};
}

Finishable finishable(hr::ConvOp op, OpBuilder &b) {
  SymbolicShape result = shapeOf(op.getResult());
  AffineExpr rows = result.front();
  for (AffineExpr size : ArrayRef(result).drop_front().drop_back())
    rows = rows * size;
  auto number = [&](int64_t value) { return constantDim(value, b.getContext()); };
  SmallVector<AffineExpr> patches = patchParameters(op),
                          parameters{rows, number(op.getUnsignedInput()),
                                     number(op.getUnsignedFilter())};
  llvm::append_range(parameters, patches);
  SmallVector<int64_t> known; // sizes of images may be open; packing asks for those of windows only
  for (AffineExpr size : patches)
    known.push_back(constantValue(size).value_or(1));
  ByteDepthwise depthwise{BytePatches::of(known), 1, op.getUnsignedInput(), op.getUnsignedFilter()};
  auto constant = op.getFilter().getDefiningOp<hr::ConstantOp>();
  Value weights =
      asConstant(b, constant.getLoc(),
                 packedTaps(depthwise, constantTensor(constant.getValue()).as<uint8_t>()));
  std::string name = operatorName(op);
  return {"depthwise",   op,
          op.getInput(), weights,
          parameters,    hr::OperatorInterface(op).getMovement().operations(b.getContext()),
          name,          {b.getStringAttr(name)}};
}

struct CpuFuseEpiloguesPass : impl::CpuFuseEpiloguesPassBase<CpuFuseEpiloguesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> products;
    for (Operation &op : getOperation().getOps())
      if (isa<hr::LibraryOp, hr::ConvOp>(op))
        products.push_back(&op);
    for (Operation *op : products) {
      auto call = dyn_cast<hr::LibraryOp>(op);
      auto conv = dyn_cast<hr::ConvOp>(op);
      if (call ? !canFinish(call) : !isDepthwise(conv))
        continue;
      std::optional<MatchedFinish> matched = matchAll(op->getResult(0));
      if (!matched)
        continue;
      OpBuilder b(op);
      finish(call ? finishable(call, b) : finishable(conv, b), *matched);
    }
  }

private:
  static void finish(Finishable product, MatchedFinish &matched) {
    hr::PadOp pad = borderOf(matched.result);
    Operation *last = pad ? pad.getOperation() : matched.maps.back().getOperation();
    OpBuilder b(last);
    SmallVector<Value> inputs{product.image, product.weights,
                              asConstant(b, product.op->getLoc(), matched.finish.record())};
    if (matched.other)
      inputs.push_back(matched.other);
    product.parameters.push_back(constantDim(matched.finish.form, b.getContext()));
    llvm::append_range(product.parameters, placesOf(matched.result, pad));

    SmallVector<Operation *> taken(matched.maps.begin(), matched.maps.end());
    if (pad)
      taken.push_back(pad);
    AffineExpr read = constantDim(0, b.getContext());
    for (Value input : inputs)
      read = read + byteCount(cast<RankedTensorType>(input.getType()));
    for (Operation *op : taken)
      if (auto name = b.getStringAttr(operatorName(op));
          !llvm::is_contained(product.operators, name))
        product.operators.push_back(name);
    Value result = last->getResult(0);
    AffineMap cost =
        symbolMap({read, byteCount(cast<RankedTensorType>(result.getType())), product.operations},
                  b.getContext());
    std::string routine =
        (matched.other ? "int8.added_" : "int8.finished_") + product.routine.str();
    auto finished = b.create<hr::LibraryOp>(
        last->getLoc(), result.getType(), inputs, b.getStringAttr(routine),
        AffineMapAttr::get(symbolMap(product.parameters, b.getContext())),
        b.getStringAttr(product.name), b.getArrayAttr(product.operators), AffineMapAttr::get(cost));
    result.replaceAllUsesWith(finished.getResult());
    for (Operation *op : llvm::reverse(taken))
      op->erase();
    product.op->erase();
  }
};

} // namespace
} // namespace headrace
