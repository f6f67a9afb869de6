// Level 1: reverse-mode differentiation.
//
//   func @main(%x, %w) -> %y { %y = hr.contract %x, %w }
// becomes
//   func @main(%x, %w, %dy) -> (%y, %dx, %dw) attributes {hr.gradient = [2, 1]} {
//     %y = hr.contract %x, %w
//     %dx = hr.contract %dy, %w
//     %dw = hr.contract %x, %dy
//   }
//
// Walks the program backwards from its results; every operator turns the gradient of its result
// into gradients of its operands by the rule next to it (`OperatorInterface::gradient`).
// A value that is used several times sums what comes back from each use. Only what depends on the
// inputs asked for is differentiated. With `seed-scalars`, results of one element need no gradient
// of their own: it is 1.
//
// The attribute says how many arguments and results the program had before. Maps should have been
// merged by then (merge-maps): the gradient of a chain of maps is one map, and nothing of the chain
// is kept.
#include "dialect/gradient/Builders.h"
#include "transform/Passes.h"
#include "transform/gradient/Gradient.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "transform/Passes.h.inc"

namespace {

/// Gradients keep the name of the operator they belong to, marked.
Location gradientLocation(Operation *op) {
  return NameLoc::get(StringAttr::get(op->getContext(), operatorName(op) + ".grad"));
}

class Differentiation {
public:
  Differentiation(func::FuncOp function, ArrayRef<int64_t> wrt)
      : function(function), body(function.getBody().front()), b(body.getTerminator()) {
    for (int64_t index : wrt)
      active.insert(function.getArgument(index));
    for (Operation &op : body.without_terminator())
      if (gradient::isFloat(op.getResult(0)) && !isa<hr::DetachOp>(op) &&
          llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); }))
        active.insert(op.getResult(0));
  }

  bool isActive(Value value) const { return active.contains(value); }

  void contribute(Value value, Value gradient) {
    if (gradient && isActive(value))
      contributions[value].push_back(gradient);
  }

  /// The gradient of a value all of whose uses have contributed; null if none did.
  Value total(Value value) {
    auto found = contributions.find(value);
    if (found == contributions.end())
      return {};
    SmallVector<Value> &parts = found->second;
    if (parts.size() > 1) {
      Location loc = parts.back().getLoc();
      Value sum = createMap(b, loc, parts, [&](OpBuilder &inner, ValueRange v) {
        Value partial = v[0];
        for (Value next : v.drop_front())
          partial = inner.create<arith::AddFOp>(loc, partial, next);
        return partial;
      });
      parts.assign({sum});
    }
    return parts.front();
  }

  LogicalResult run() {
    SmallVector<Operation *> forward;
    for (Operation &op : body.without_terminator())
      forward.push_back(&op);
    for (Operation *op : llvm::reverse(forward)) {
      if (!isActive(op->getResult(0)))
        continue;
      Value gradient = total(op->getResult(0));
      if (!gradient)
        continue;
      Operation *last = b.getInsertionPoint()->getPrevNode();
      auto gradients = cast<hr::OperatorInterface>(op).gradient(b, gradient);
      if (failed(gradients))
        return op->emitError() << op->getName() << " has no gradient";
      for (Operation &made :
           llvm::make_range(std::next(Block::iterator(last)), b.getInsertionPoint()))
        made.setLoc(gradientLocation(op));
      for (auto [operand, part] : llvm::zip(op->getOperands(), *gradients))
        contribute(operand, part);
    }
    return success();
  }

  OpBuilder &builder() { return b; }

private:
  func::FuncOp function;
  Block &body;
  OpBuilder b;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, SmallVector<Value>> contributions;
};

StringRef nameOf(StringAttr name) { return name ? name.getValue() : StringRef(); }

/// The attributes of an argument or result that is the gradient of the one with this name.
DictionaryAttr nameAttributes(Builder &b, StringRef name) {
  SmallVector<NamedAttribute> attributes;
  if (!name.empty())
    attributes.push_back(b.getNamedAttr(kNameAttr, b.getStringAttr(name + ".grad")));
  return b.getDictionaryAttr(attributes);
}

struct DifferentiatePass : impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<int64_t> inputs = differentiatedInputs(function);
    auto ret = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    unsigned arguments = function.getNumArguments(), results = function.getNumResults();
    Differentiation differentiation(function, inputs);
    for (unsigned i = 0; i < results; ++i)
      if (gradient::isFloat(ret.getOperand(i)))
        differentiation.contribute(ret.getOperand(i), seedOf(function, ret, i, differentiation));
    if (failed(differentiation.run()))
      return signalPassFailure();

    OpBuilder &b = differentiation.builder();
    SmallVector<Value> values(ret.getOperands());
    for (int64_t index : inputs) {
      BlockArgument input = function.getArgument(index);
      Value gradient = differentiation.total(input);
      if (!gradient)
        gradient = gradient::filled(b, input.getLoc(), cast<RankedTensorType>(input.getType()), 0);
      values.push_back(gradient);
      StringRef name = nameOf(function.getArgAttrOfType<StringAttr>(index, kNameAttr));
      function.insertResult(function.getNumResults(), gradient.getType(), nameAttributes(b, name));
    }
    ret.getOperandsMutable().assign(values);
    function->setAttr(kGradientAttr, b.getDenseI64ArrayAttr({arguments, results}));
  }

private:
  SmallVector<int64_t> differentiatedInputs(func::FuncOp function) {
    SmallVector<int64_t> inputs(wrt.begin(), wrt.end());
    if (inputs.empty())
      for (BlockArgument argument : function.getArguments())
        if (gradient::isFloat(argument))
          inputs.push_back(argument.getArgNumber());
    return inputs;
  }

  /// The gradient of a result: 1, or one more argument.
  Value seedOf(func::FuncOp function, func::ReturnOp ret, unsigned index,
               Differentiation &differentiation) {
    auto type = cast<RankedTensorType>(ret.getOperand(index).getType());
    Location loc = ret.getOperand(index).getLoc();
    if (seedScalars && type.hasStaticShape() && type.getNumElements() == 1)
      return gradient::filled(differentiation.builder(), loc, type, 1);
    Builder b(function.getContext());
    StringRef name = nameOf(function.getResultAttrOfType<StringAttr>(index, kNameAttr));
    unsigned position = function.getNumArguments();
    function.insertArgument(position, type, nameAttributes(b, name), loc);
    return function.getArgument(position);
  }
};

} // namespace
} // namespace headrace
