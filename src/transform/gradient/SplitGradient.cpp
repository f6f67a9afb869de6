// Level 1: a differentiated program as two programs, one for each direction.
//
//   func @main(%x, %dy) -> (%y, %dx) attributes {hr.gradient = [1, 1]} {
//     %h = hr.map(%x) { exp } ; %y = hr.contract %h, %w
//     %dh = hr.contract %dy, %w ; %dx = hr.map(%h, %dh) { mulf }
//   }
// becomes
//   func @forward(%x) -> %y { %h = hr.map(%x) { exp } ; %y = hr.contract %h, %w }
//   func @backward(%x, %dy) -> %dx attributes {hr.kept = [0]} {
//     %h = hr.map(%x) { exp } ; %dh = hr.contract %dy, %w ; %dx = hr.map(%h, %dh) { mulf }
//   }
//
// Operators that depend on gradients of results run backward. Of the other values that they need,
// each is kept or computed again (rematerialized; KeptValues.cpp decides), right before its first
// use, so that it lives shortly. Constants are in both.
#include "dialect/ExpectedSizes.h"
#include "transform/Passes.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"
#include "transform/gradient/Gradient.h"
#include "transform/gradient/KeptValues.h"

#include "llvm/ADT/StringSet.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_SPLITGRADIENTPASS
#include "transform/Passes.h.inc"

namespace {

/// Arguments and results of a function that is built.
struct Signature {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;

  void add(Value value, DictionaryAttr attribute) {
    types.push_back(value.getType());
    attributes.push_back(attribute);
  }
};

class Splitter {
public:
  explicit Splitter(func::FuncOp joint)
      : joint(joint), ret(cast<func::ReturnOp>(joint.getBody().front().getTerminator())) {
    auto counts = joint->getAttrOfType<DenseI64ArrayAttr>(kGradientAttr);
    inputs = counts[0];
    outputs = counts[1];
  }

  void run(std::optional<int64_t> budget, const Machine &machine) {
    choose(budget, machine);
    bindSymbols();
    // Results that hold kept values; the others are added.
    SmallVector<Value> forwardResults(ret.getOperands().take_front(outputs));
    SmallVector<int64_t> places;
    for (Value value : kept) {
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        places.push_back(argument.getArgNumber());
        continue;
      }
      auto *at = llvm::find(forwardResults, value);
      places.push_back(-1 - (at - forwardResults.begin()));
      if (at == forwardResults.end())
        forwardResults.push_back(value);
    }
    buildForward(forwardResults);
    func::FuncOp backward = buildBackward();
    backward->setAttr(kKeptAttr, DenseI64ArrayAttr::get(joint.getContext(), places));
    if (Attribute choices = joint->getAttr(kChoicesAttr))
      backward->setAttr(kSplitChoicesAttr, choices);
    if (Attribute refused = joint->getAttr(kRefusedStepAttr))
      backward->setAttr(kRefusedStepAttr, refused);
    joint.erase();
  }

private:
  /// Chooses what is saved: as the recipe says for operators that it names, else by the least cost.
  void choose(std::optional<int64_t> budget, const Machine &machine) {
    GradientGraph graph = GradientGraph::of(joint, inputs, outputs, machine);
    Choices choices(joint);
    for (GradientGraph::Node &node : graph.nodes)
      if (Operation *op = node.value.getDefiningOp()) {
        if (choices.wanted(verbs::keep, op))
          node.given = true;
        else if (choices.wanted(verbs::recompute, op))
          node.given = false;
      }
    kept = chooseKeptValues(graph, budget);
    llvm::DenseSet<Value> isKept(kept.begin(), kept.end());
    for (const GradientGraph::Node &node : graph.nodes)
      if (Operation *op = node.value.getDefiningOp())
        choices.note(isKept.contains(node.value) ? verbs::keep : verbs::recompute, op);
    choices.finish({verbs::keep.name, verbs::recompute.name});
  }

  /// The symbols that a dimension of the value is.
  static llvm::SmallDenseSet<unsigned> boundBy(Value value) {
    llvm::SmallDenseSet<unsigned> symbols;
    for (AffineExpr dim : shapeOf(value))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(dim))
        symbols.insert(symbol.getPosition());
    return symbols;
  }

  /// Every dynamic dimension must follow from what the backward function takes.
  void bindSymbols() {
    llvm::SmallDenseSet<unsigned> bound;
    for (Value value : kept)
      for (unsigned symbol : boundBy(value))
        bound.insert(symbol);
    for (Value seed : joint.getArguments().drop_front(inputs))
      for (unsigned symbol : boundBy(seed))
        bound.insert(symbol);
    for (BlockArgument input : joint.getArguments().take_front(inputs))
      for (unsigned symbol : boundBy(input))
        if (bound.insert(symbol).second)
          kept.push_back(input);
  }

  DictionaryAttr nameAttribute(Twine name) {
    Builder b(joint.getContext());
    return b.getDictionaryAttr(b.getNamedAttr(kNameAttr, b.getStringAttr(name)));
  }

  DictionaryAttr attributesOf(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return joint.getArgAttrDict(argument.getArgNumber());
    std::string &name = keptNames[value];
    if (name.empty()) {
      // Several values of one operator may be kept.
      std::string plain = name = "kept " + operatorName(value.getDefiningOp());
      for (int number = 2; !takenNames.insert(name).second; ++number)
        name = plain + " " + std::to_string(number);
    }
    return nameAttribute(name);
  }

  func::FuncOp makeFunction(StringRef name, const Signature &arguments, const Signature &results) {
    OpBuilder b(joint);
    auto function = b.create<func::FuncOp>(joint.getLoc(), name,
                                           b.getFunctionType(arguments.types, results.types));
    for (StringRef key : {StringRef(kSymbolsAttr), StringRef(kSymbolMinAttr),
                          StringRef(kSymbolMaxAttr), StringRef(kExpectedSizesAttr)})
      if (Attribute attribute = joint->getAttr(key))
        function->setAttr(key, attribute);
    function.setAllArgAttrs(arguments.attributes);
    function.setAllResultAttrs(results.attributes);
    function.addEntryBlock();
    return function;
  }

  void buildForward(ArrayRef<Value> values) {
    Signature arguments, results;
    for (BlockArgument argument : joint.getArguments().take_front(inputs))
      arguments.add(argument, joint.getArgAttrDict(argument.getArgNumber()));
    for (auto [i, value] : llvm::enumerate(values))
      results.add(value, i < outputs ? joint.getResultAttrDict(i) : attributesOf(value));
    func::FuncOp forward = makeFunction("forward", arguments, results);
    IRMapping mapping;
    mapping.map(joint.getArguments().take_front(inputs), forward.getArguments());
    fill(forward, mapping, values);
  }

  func::FuncOp buildBackward() {
    Signature arguments, results;
    for (Value value : kept)
      arguments.add(value, attributesOf(value));
    for (BlockArgument seed : joint.getArguments().drop_front(inputs))
      arguments.add(seed, joint.getArgAttrDict(seed.getArgNumber()));
    SmallVector<Value> gradients(ret.getOperands().drop_front(outputs));
    for (auto [i, value] : llvm::enumerate(gradients))
      results.add(value, joint.getResultAttrDict(outputs + i));
    func::FuncOp backward = makeFunction("backward", arguments, results);
    IRMapping mapping;
    mapping.map(kept, backward.getArguments().take_front(kept.size()));
    mapping.map(joint.getArguments().drop_front(inputs),
                backward.getArguments().drop_front(kept.size()));
    fill(backward, mapping, gradients);
    return backward;
  }

  /// Copies what the values need: operators that depend on gradients in their order, everything
  /// else right before its first use.
  void fill(func::FuncOp function, IRMapping &mapping, ArrayRef<Value> values) {
    OpBuilder b = OpBuilder::atBlockEnd(&function.getBody().front());
    llvm::DenseSet<Operation *> needed;
    SmallVector<Value> pending(values);
    while (!pending.empty()) {
      Value value = pending.pop_back_val();
      Operation *producer = value.getDefiningOp();
      if (mapping.contains(value) || !producer || !needed.insert(producer).second)
        continue;
      llvm::append_range(pending, producer->getOperands());
    }
    llvm::DenseSet<Value> late = GradientGraph::dependsOnSeeds(joint, inputs);
    auto copy = [&](auto &self, Operation *op) -> void {
      if (mapping.contains(op->getResult(0)))
        return;
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          self(self, producer);
      if (isa<hr::CheckOp>(op) && !checkedForward.insert(op).second)
        mapping.map(op->getResult(0), mapping.lookup(op->getOperand(0)));
      else
        b.clone(*op, mapping);
    };
    bool isForward = values.empty() || !late.contains(values.back());
    for (Operation &op : joint.getBody().front().without_terminator())
      if (needed.contains(&op) && (isForward || late.contains(op.getResult(0))))
        copy(copy, &op);
    SmallVector<Value> mapped;
    for (Value value : values) {
      if (Operation *producer = value.getDefiningOp())
        copy(copy, producer);
      mapped.push_back(mapping.lookup(value));
    }
    b.create<func::ReturnOp>(joint.getLoc(), mapped);
  }

  func::FuncOp joint;
  func::ReturnOp ret;
  unsigned inputs, outputs;
  SmallVector<Value> kept;
  llvm::DenseMap<Value, std::string> keptNames;
  llvm::StringSet<> takenNames;
  llvm::DenseSet<Operation *> checkedForward; // what that direction checks, the other need not
};

struct SplitGradientPass : impl::SplitGradientPassBase<SplitGradientPass> {
  using SplitGradientPassBase::SplitGradientPassBase;

  void runOnOperation() override {
    auto joint = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!joint || !joint->hasAttr(kGradientAttr)) {
      getOperation().emitError("expected a differentiated program @main");
      return signalPassFailure();
    }
    Splitter(joint).run(budget < 0 ? std::nullopt : std::optional<int64_t>(budget),
                        machineOfTarget(target));
  }
};

} // namespace
} // namespace headrace
