#include "target/cuda/write/KernelWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace headrace::cuda {

KernelWriter::KernelWriter(gpu::GPUModuleOp module, Location loc, StringRef name, int64_t threads)
    : b(module.getContext()), location(loc), module(module), threads(threads) {
  b.setInsertionPoint(module.getBody()->getTerminator());
  function = b.create<gpu::GPUFuncOp>(loc, name, b.getFunctionType({}, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  auto block = b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1});
  function.setKnownBlockSizeAttr(block);
  b.setInsertionPointToEnd(&function.getBody().front());
  auto end = b.create<gpu::ReturnOp>(loc);
  b.setInsertionPoint(end);
}

/// Computes a value that all threads need once, in the entry block, which dominates all others.
Value KernelWriter::atEntry(llvm::function_ref<Value(OpBuilder &)> create) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  return create(b);
}

Value KernelWriter::parameter(Type type, DictionaryAttr launch, DictionaryAttr attrs) {
  Value &value = known[launch];
  if (!value) {
    value = function.getBody().front().addArgument(type, location);
    parameters.push_back(launch);
    argumentAttrs.push_back(attrs);
  }
  return value;
}

Value KernelWriter::address(const TensorPlace &place, bool written) {
  SmallVector<NamedAttribute> attrs{
      b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(16)),
      b.getNamedAttr(LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr())};
  if (!written)
    attrs.push_back(b.getNamedAttr(LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr()));
  NamedAttribute launch =
      place.kind == TensorPlace::Kind::Buffer
          ? b.getNamedAttr("buffer", b.getI64IntegerAttr(place.index))
          : b.getNamedAttr("workspace",
                           AffineMapAttr::get(symbolMap({place.offset}, b.getContext())));
  return parameter(LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace),
                   b.getDictionaryAttr(launch), b.getDictionaryAttr(attrs));
}

Value KernelWriter::size(AffineExpr expr) {
  if (auto constant = constantValue(expr))
    return number(*constant);
  auto map = AffineMapAttr::get(symbolMap({expr}, b.getContext()));
  Value &value = known[map];
  if (!value) {
    Value wide = parameter(b.getI64Type(), b.getDictionaryAttr(b.getNamedAttr("size", map)),
                           b.getDictionaryAttr({}));
    value = atEntry([&](OpBuilder &entry) -> Value {
      return entry.create<arith::IndexCastUIOp>(location, entry.getIndexType(), wide);
    });
  }
  return value;
}

Value KernelWriter::number(int64_t value) {
  return b.create<arith::ConstantIndexOp>(location, value);
}

Value KernelWriter::thread() {
  if (!threadId)
    threadId = atEntry([&](OpBuilder &entry) -> Value {
      return entry.create<gpu::ThreadIdOp>(location, gpu::Dimension::x);
    });
  return threadId;
}

Value KernelWriter::block(unsigned dim) {
  constexpr gpu::Dimension kDims[] = {gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z};
  if (!blockIds[dim])
    blockIds[dim] = atEntry([&](OpBuilder &entry) -> Value {
      return entry.create<gpu::BlockIdOp>(location, kDims[dim]);
    });
  return blockIds[dim];
}

Value KernelWriter::shared(int64_t bytes) {
  OpBuilder outer(function);
  std::string name = (function.getName() + "_shared" + Twine(sharedCount++)).str();
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes);
  auto global = outer.create<LLVM::GlobalOp>(location, type, /*isConstant=*/false,
                                             LLVM::Linkage::Internal, name, Attribute(),
                                             /*alignment=*/16, kSharedSpace);
  return atEntry(
      [&](OpBuilder &entry) -> Value { return entry.create<LLVM::AddressOfOp>(location, global); });
}

Value KernelWriter::dynamicShared(int64_t bytes, int64_t alignment) {
  OpBuilder outer(function);
  dynamicBytes = bytes;
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  auto global = outer.create<LLVM::GlobalOp>(
      location, type, /*isConstant=*/false, LLVM::Linkage::External,
      (function.getName() + "_shared").str(), Attribute(), alignment, kSharedSpace);
  return atEntry(
      [&](OpBuilder &entry) -> Value { return entry.create<LLVM::AddressOfOp>(location, global); });
}

Value KernelWriter::tensorMap(const TensorPlace &place, ArrayRef<AffineExpr> shape, Type element,
                              ArrayRef<int64_t> box, int64_t swizzleBytes) {
  bool isBuffer = place.kind == TensorPlace::Kind::Buffer;
  AffineExpr offset = isBuffer ? constantDim(0, b.getContext()) : place.offset;
  auto record = b.getDictionaryAttr(
      {b.getNamedAttr("tensor_map", b.getI64IntegerAttr(isBuffer ? place.index : -1)),
       b.getNamedAttr("workspace", AffineMapAttr::get(symbolMap({offset}, b.getContext()))),
       b.getNamedAttr("shape", AffineMapAttr::get(symbolMap(shape, b.getContext()))),
       b.getNamedAttr("element", TypeAttr::get(element)),
       b.getNamedAttr("box", b.getDenseI64ArrayAttr(box)),
       b.getNamedAttr("swizzle", b.getI64IntegerAttr(swizzleBytes))});
  return parameter(LLVM::LLVMPointerType::get(b.getContext()), record, b.getDictionaryAttr({}));
}

void KernelWriter::setResidentBlocks(int64_t blocks) {
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(blocks));
}

DictionaryAttr KernelWriter::finish(ArrayRef<AffineExpr> grid) {
  Block &body = function.getBody().front();
  function.setFunctionType(b.getFunctionType(body.getArgumentTypes(), {}));
  function.setArgAttrsAttr(b.getArrayAttr(argumentAttrs));
  SmallVector<AffineExpr> blocks(grid);
  blocks.resize(3, constantDim(1, b.getContext()));
  return b.getDictionaryAttr(
      {b.getNamedAttr("shared", b.getI64IntegerAttr(dynamicBytes)),
       b.getNamedAttr("function", b.getStringAttr(function.getName())),
       b.getNamedAttr("grid", AffineMapAttr::get(symbolMap(blocks, b.getContext()))),
       b.getNamedAttr("threads", b.getI64IntegerAttr(threads)),
       b.getNamedAttr("parameters", b.getArrayAttr(parameters))});
}

} // namespace headrace::cuda
