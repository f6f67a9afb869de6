#include "driver/KernelPrograms.h"

#include "driver/RunPasses.h"
#include "runtime/system/FileCache.h"
#include "transform/choices/Choices.h"
#include "transform/kernels/ValueNumbers.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionImplementation.h"

#include <algorithm>

using namespace mlir;

namespace headrace {

namespace {

/// Attributes that only name things.
bool isName(StringRef attribute) {
  return attribute == "name" || attribute == "operators" || attribute == "kernel" ||
         attribute == SymbolTable::getSymbolAttrName() || attribute == kNameAttr ||
         attribute == kRecipeAttr || attribute == kKernelAttr;
}

/// All of an operation but names, places and operands.
std::string textOf(Operation &op, ModuleOp program) {
  std::string text = op.getName().getStringRef().str();
  llvm::raw_string_ostream os(text);
  auto constant = dyn_cast<hr::ConstantOp>(op);
  for (NamedAttribute attribute : op.getAttrDictionary())
    if (!isName(attribute.getName()) && !(constant && attribute.getName() == "value"))
      os << ' ' << attribute.getName().getValue() << '=' << attribute.getValue();
  for (Type type : op.getOperandTypes())
    os << ' ' << type;
  os << " ->";
  for (Type type : op.getResultTypes())
    os << ' ' << type;
  for (Region &region : op.getRegions())
    region.walk([&](Operation *inner) {
      os << '\n';
      inner->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
    });
  // The launched kernel describes operators that an accelerator computes.
  if (auto launch = dyn_cast<hr::LaunchOp>(op))
    if (auto kernel = program.lookupSymbol<ModuleOp>(launch.getKernel()))
      for (NamedAttribute attribute : kernel->getAttrDictionary())
        if (!isName(attribute.getName()))
          os << ' ' << attribute.getName().getValue() << '=' << attribute.getValue();
  return text;
}

std::string hashOf(const std::string &text) { return FileCache::key({text}).substr(0, 32); }

bool isAnchor(Operation &op) {
  return op.getNumResults() > 0 && !isa<hr::ConstantOp, hr::ReshapeOp>(op);
}

/// The numbers of all values that steps of the scheduled program store.
llvm::DenseSet<int64_t> storedValues(func::FuncOp scheduled) {
  llvm::DenseSet<int64_t> numbers;
  for (Operation &op : scheduled.getBody().front())
    for (OpResult result : op.getResults())
      if (auto number = valueNumber(result); number && !isa<hr::ConstantOp>(op))
        numbers.insert(*number);
  return numbers;
}

/// The operators between some values and what is stored before them.
class Slice {
public:
  Slice(ArrayRef<Value> results, const llvm::DenseSet<int64_t> &stored,
        const llvm::DenseSet<int64_t> &own) {
    SmallVector<Value> open(results);
    while (!open.empty()) {
      Value value = open.pop_back_val();
      Operation *op = value.getDefiningOp();
      auto number = op && op->getNumResults() == 1 ? valueNumber(cast<OpResult>(value))
                                                   : std::optional<int64_t>();
      bool isGiven = !op || (number && stored.contains(*number) && !own.contains(*number));
      if (isGiven)
        given.insert(value);
      else if (ops.insert(op).second)
        llvm::append_range(open, op->getOperands());
    }
  }

  llvm::DenseSet<Operation *> ops;
  llvm::DenseSet<Value> given;
};

class Extractor {
public:
  Extractor(ModuleOp laidOut, ModuleOp scheduled)
      : laidOut(laidOut), scheduled(scheduled), entry(entryFunction(laidOut)) {
    for (Operation &op : entry.getBody().front())
      if (op.getNumResults() == 1)
        if (auto number = valueNumber(op.getResult(0)))
          values[*number] = op.getResult(0);
    stored = storedValues(entryFunction(scheduled));
  }

  std::vector<KernelProgram> run() {
    std::vector<KernelProgram> all;
    for (auto launch : entryFunction(scheduled).getOps<hr::LaunchOp>())
      if (KernelProgram program = programOf(launch); program.program)
        all.push_back(std::move(program));
    return all;
  }

private:
  KernelProgram programOf(hr::LaunchOp launch) {
    KernelProgram result;
    SmallVector<Value> results;
    llvm::DenseSet<int64_t> own;
    for (OpResult value : launch->getResults()) {
      auto number = valueNumber(value);
      if (!number || !values.contains(*number))
        return result;
      results.push_back(values.lookup(*number));
      own.insert(*number);
    }
    result.name = kernelNameOf(launch);
    if (result.name.empty())
      return result;
    result.module = launch.getKernel().str();
    write(result, results, Slice(results, stored, own));
    return result;
  }

  void write(KernelProgram &result, ArrayRef<Value> results, const Slice &slice) {
    SmallVector<Value> inputs;
    auto addInput = [&](Value value) {
      if (slice.given.contains(value) && !llvm::is_contained(inputs, value))
        inputs.push_back(value);
    };
    // In the order of their use, which equal kernels share.
    SmallVector<Operation *> ops;
    for (Operation &op : entry.getBody().front())
      if (slice.ops.contains(&op)) {
        ops.push_back(&op);
        llvm::for_each(op.getOperands(), addInput);
      }
    llvm::for_each(results, addInput);
    MLIRContext *context = laidOut.getContext();
    result.program = ModuleOp::create(UnknownLoc::get(context));
    (*result.program)->setAttrs(laidOut->getAttrDictionary());
    OpBuilder b = OpBuilder::atBlockEnd(result.program->getBody());
    auto function =
        b.create<func::FuncOp>(entry.getLoc(), entry.getName(),
                               b.getFunctionType(llvm::to_vector(ValueRange(inputs).getTypes()),
                                                 llvm::to_vector(ValueRange(results).getTypes())));
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    IRMapping mapping;
    mapping.map(inputs, body->getArguments());
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::DenseMap<Value, size_t> numbers;
    for (Value input : inputs)
      numbers[input] = numbers.size();
    for (Operation *op : ops) {
      std::string own = textOf(*op, laidOut);
      if (isAnchor(*op))
        result.anchor = std::max(result.anchor, hashOf(own));
      os << own << " of";
      for (Value operand : op->getOperands())
        os << ' ' << numbers.lookup(operand);
      os << '\n';
      for (Value value : op->getResults())
        numbers[value] = numbers.size();
      b.clone(*op, mapping);
      if (auto launch = dyn_cast<hr::LaunchOp>(op))
        addKernel(launch, *result.program);
    }
    os << "results";
    SmallVector<Value> returned;
    for (Value value : results) {
      os << ' ' << numbers.lookup(value);
      returned.push_back(mapping.lookup(value));
    }
    b.create<func::ReturnOp>(entry.getLoc(), returned);
    result.fingerprint = hashOf(text);
  }

  void addKernel(hr::LaunchOp launch, ModuleOp program) {
    auto kernel = laidOut.lookupSymbol<ModuleOp>(launch.getKernel());
    if (kernel && !program.lookupSymbol<ModuleOp>(launch.getKernel()))
      program.push_back(kernel->clone());
  }

  ModuleOp laidOut, scheduled;
  func::FuncOp entry;
  llvm::DenseMap<int64_t, Value> values;
  llvm::DenseSet<int64_t> stored;
};

} // namespace

std::vector<KernelProgram> kernelPrograms(ModuleOp laidOut, ModuleOp scheduled) {
  return Extractor(laidOut, scheduled).run();
}

std::vector<std::string> possibleAnchors(ModuleOp laidOut) {
  std::vector<std::string> anchors;
  for (Operation &op : entryFunction(laidOut).getBody().front())
    if (isAnchor(op))
      anchors.push_back(hashOf(textOf(op, laidOut)));
  return anchors;
}

} // namespace headrace
