// Level 2 -> level 3: gives every kernel a module of its own.
//
// Before:
//   %y = hr.kernel "relu" (%x) { ^bb0(%a: tensor<8xf32>): ... hr.yield %r }
// After:
//   module @relu {
//     func.func @relu(%in: memref<8xf32>, %out: memref<8xf32>) {
//       %a = bufferization.to_tensor %in restrict ; ...
//       bufferization.materialize_in_destination %r in restrict writable %out
//     }
//   }
//   %y = hr.launch @relu(%x)
//
// A value that a kernel yields twice becomes one result: functions that differ in the program may
// be found equal in the kernel. Kernels with equal bodies share one module: a network repeats its
// blocks, and compiling is what takes time. Modules are compiled independently, so on all cores.
#include "dialect/ExpectedSizes.h"
#include "transform/Passes.h"
#include "transform/choices/Choices.h"
#include "transform/kernels/KernelForm.h"
#include "transform/kernels/KernelFunction.h"
#include "transform/kernels/KernelSymbol.h"
#include "transform/kernels/ValueNumbers.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "transform/Passes.h.inc"

namespace {

/// The body as text, without names and places: equal texts are equal kernels.
std::string fingerprint(hr::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (Type type : kernel->getOperandTypes())
    os << type << ";";
  for (Type type : kernel->getResultTypes())
    os << type << ";";
  for (StringRef name : {kRecipeAttr, kInputNamesAttr, kFormAttr})
    if (Attribute attribute = kernel->getAttr(name))
      os << attribute << ";";
  for (Operation &op : kernel.getBody().front())
    op.print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
  return text;
}

/// Whether both are the same value: one value, or results of a loop that stores one value in the
/// same places of both.
bool areEqual(Value a, Value b) {
  auto loop = a.getDefiningOp<scf::ForallOp>();
  if (a == b || !loop || loop != b.getDefiningOp<scf::ForallOp>())
    return a == b;
  auto storeOf = [&](Value result) {
    OpOperand *start = loop.getTiedOpOperand(cast<OpResult>(result));
    auto stores = loop.getCombiningOps(loop.getTiedBlockArgument(start));
    return stores.size() == 1 ? dyn_cast<tensor::ParallelInsertSliceOp>(stores.front()) : nullptr;
  };
  auto first = storeOf(a), second = storeOf(b);
  return first && second && a.getType() == b.getType() && first.getSource() == second.getSource() &&
         first.getMixedOffsets() == second.getMixedOffsets() &&
         first.getMixedSizes() == second.getMixedSizes() &&
         first.getMixedStrides() == second.getMixedStrides();
}

/// The kernel with every value it yields as one result.
hr::KernelOp withoutEqualResults(OpBuilder &b, hr::KernelOp kernel) {
  auto yield = cast<hr::YieldOp>(kernel.getBody().front().getTerminator());
  SmallVector<unsigned> place; // of each result among those that stay
  SmallVector<Value> yielded;
  SmallVector<Type> types;
  SmallVector<Location> places;
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    auto *known = llvm::find_if(yielded, [&](Value other) { return areEqual(other, value); });
    place.push_back(known - yielded.begin());
    if (known != yielded.end())
      continue;
    yielded.push_back(value);
    types.push_back(kernel->getResult(i).getType());
    places.push_back(locationOf(kernel->getResult(i)));
  }
  if (yielded.size() == place.size())
    return kernel;
  b.setInsertionPoint(kernel);
  OperationState state(locationOfResults(places), kernel->getName(), kernel->getOperands(), types,
                       kernel->getAttrs());
  state.addRegion()->takeBody(kernel.getBody());
  auto fewer = cast<hr::KernelOp>(b.create(state));
  yield->setOperands(yielded);
  for (auto [result, at] : llvm::zip_equal(kernel->getResults(), place))
    result.replaceAllUsesWith(fewer->getResult(at));
  kernel.erase();
  return fewer;
}

MemRefType memoryOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

ModuleOp outline(OpBuilder &b, hr::KernelOp kernel, StringRef symbol) {
  Location loc = kernel.getLoc();
  auto module = b.create<ModuleOp>(loc, symbol);
  OpBuilder inner = OpBuilder::atBlockEnd(module.getBody());
  Block &body = kernel.getBody().front();
  auto yield = cast<hr::YieldOp>(body.getTerminator());
  SmallVector<Type> types;
  for (Type type : body.getArgumentTypes())
    types.push_back(memoryOf(type));
  for (Value value : yield.getValues())
    types.push_back(memoryOf(value.getType()));
  auto func = inner.create<func::FuncOp>(loc, symbol, inner.getFunctionType(types, {}));
  func->setAttr(kResultsAttr, inner.getI64IntegerAttr(yield.getValues().size()));
  // Which sizes the symbolic dimensions of an argument have.
  SmallVector<Type> outer(kernel->getOperandTypes());
  llvm::append_range(outer, kernel->getResultTypes());
  for (auto [i, type] : llvm::enumerate(outer))
    if (Attribute sizes = cast<RankedTensorType>(type).getEncoding())
      func.setArgAttr(i, kSizesAttr, sizes);
  if (auto names = kernel->getAttrOfType<ArrayAttr>(kInputNamesAttr))
    for (auto [i, name] : llvm::enumerate(names))
      func.setArgAttr(i, kNameAttr, name);
  for (StringRef name : {kRecipeAttr, kFormAttr})
    if (Attribute attribute = kernel->getAttr(name))
      module->setAttr(name, attribute);
  inner.setInsertionPointToStart(func.addEntryBlock());
  IRMapping mapping;
  for (BlockArgument argument : body.getArguments()) {
    Value memory = func.getArgument(argument.getArgNumber());
    mapping.map(argument, inner.create<bufferization::ToTensorOp>(loc, memory, /*restrict=*/true,
                                                                  /*writable=*/false));
  }
  for (Operation &op : body.without_terminator())
    inner.clone(op, mapping);
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    auto store = inner.create<bufferization::MaterializeInDestinationOp>(
        loc, TypeRange{}, mapping.lookup(value), func.getArgument(body.getNumArguments() + i));
    store.setRestrict(true);
    store.setWritable(true);
  }
  inner.create<func::ReturnOp>(loc);
  return module;
}

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() override {
    ModuleOp program = getOperation();
    SymbolTable symbols(program);
    llvm::StringMap<FlatSymbolRefAttr> known;
    OpBuilder b(program.getContext());
    SmallVector<hr::KernelOp> kernels;
    program.walk([&](hr::KernelOp kernel) { kernels.push_back(kernel); });
    for (hr::KernelOp each : kernels) {
      hr::KernelOp kernel = withoutEqualResults(b, each);
      FlatSymbolRefAttr &symbol = known[fingerprint(kernel)];
      if (!symbol) {
        b.setInsertionPointToEnd(program.getBody());
        ModuleOp module = outline(b, kernel, kernelSymbol(kernel.getName()));
        if (Attribute sizes = kernel->getParentOfType<func::FuncOp>()->getAttr(kExpectedSizesAttr))
          module->setAttr(kExpectedSizesAttr, sizes);
        module->remove();
        symbols.insert(module); // makes the name unique
        kernelFunction(module).setName(*module.getSymName());
        symbol = FlatSymbolRefAttr::get(module.getSymNameAttr());
      }
      b.setInsertionPoint(kernel);
      auto launch = b.create<hr::LaunchOp>(kernel.getLoc(), kernel.getResultTypes(),
                                           kernel.getInputs(), symbol, kernel.getNameAttr(),
                                           kernel.getOperatorsAttr(), kernel.getCostAttr());
      if (Attribute name = kernel->getAttr(kKernelAttr))
        launch->setAttr(kKernelAttr, name);
      kernel.replaceAllUsesWith(launch.getResults());
      kernel.erase();
    }
  }
};

} // namespace
} // namespace headrace
