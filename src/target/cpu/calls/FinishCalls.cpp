// Level 1: products of bytes whose sums become bytes take along what makes them so.
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
// When it hurts: never; the routine computes what the maps would, bit for bit.
#include "dialect/ConstantData.h"
#include "dialect/SymbolicShape.h"
#include "runtime/library/ByteProduct.h"
#include "target/cpu/Passes.h"
#include "target/cpu/calls/MatchFinish.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUFINISHCALLSPASS
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
  return number(kBatch) == 1 && number(kTransA) == 0 && number(kStrideB) == 0 &&
         number(kColumns) && number(kDepth) &&
         call.getInputs()[1].getDefiningOp<hr::ConstantOp>();
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

/// The border around the bytes, where one is all that reads them and rows can be written inside.
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

struct CpuFinishCallsPass : impl::CpuFinishCallsPassBase<CpuFinishCallsPass> {
  void runOnOperation() override {
    SmallVector<hr::LibraryOp> calls(getOperation().getOps<hr::LibraryOp>());
    for (hr::LibraryOp call : calls)
      if (canFinish(call))
        if (std::optional<MatchedFinish> matched = matchFinish(call.getResult()))
          finish(call, *matched);
  }

private:
  static void finish(hr::LibraryOp call, MatchedFinish &matched) {
    hr::PadOp pad = borderOf(matched.result);
    Operation *last = pad ? pad.getOperation() : matched.maps.back().getOperation();
    OpBuilder b(last);
    SmallVector<Value> inputs{call.getInputs()[0], packedWeights(call, b),
                              asConstant(b, call.getLoc(), matched.finish.record())};
    if (matched.other)
      inputs.push_back(matched.other);
    SmallVector<AffineExpr> parameters(call.getParameters().getResults());
    parameters.push_back(constantDim(matched.finish.form, b.getContext()));
    llvm::append_range(parameters, placesOf(matched.result, pad));

    SmallVector<Attribute> operators(call.getOperators().begin(), call.getOperators().end());
    for (hr::MapOp map : matched.maps)
      if (auto name = b.getStringAttr(operatorName(map)); !llvm::is_contained(operators, name))
        operators.push_back(name);
    if (pad)
      if (auto name = b.getStringAttr(operatorName(pad)); !llvm::is_contained(operators, name))
        operators.push_back(name);
    AffineExpr read = constantDim(0, b.getContext());
    for (Value input : inputs)
      read = read + byteCount(cast<RankedTensorType>(input.getType()));
    Value result = last->getResult(0);
    AffineMap cost = symbolMap({read, byteCount(cast<RankedTensorType>(result.getType())),
                                call.getCost().getResult(2)},
                               b.getContext());
    std::string routine = matched.other ? "int8.added_" : "int8.finished_";
    routine += call.getRoutine().drop_front(StringRef("int8.").size());
    auto finished = b.create<hr::LibraryOp>(
        call.getLoc(), result.getType(), inputs, b.getStringAttr(routine),
        AffineMapAttr::get(symbolMap(parameters, b.getContext())), call.getNameAttr(),
        b.getArrayAttr(operators), AffineMapAttr::get(cost));
    result.replaceAllUsesWith(finished.getResult());
    if (pad)
      pad.erase();
    for (hr::MapOp map : llvm::reverse(matched.maps))
      map.erase();
    call.erase();
  }
};

} // namespace
} // namespace headrace
