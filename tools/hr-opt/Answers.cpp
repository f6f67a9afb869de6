#include "Answers.h"

#include "dialect/ConstantData.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "dialect/reference/Evaluator.h"
#include "dialect/reference/Reference.h"
#include "runtime/system/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <cmath>

using namespace mlir;

namespace headrace {

namespace {

constexpr llvm::StringLiteral answersAttr = "hr.answers";

/// Constants that a pass evaluates are rounded to f32.
constexpr double tolerance = 1e-5;

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

/// How many symbols the types of the inputs and results have.
size_t symbolCount(func::FuncOp function) {
  SmallVector<Value> values(function.getArguments());
  llvm::append_range(values, function.getBody().front().getTerminator()->getOperands());
  size_t count = 0;
  for (Value value : values)
    for (AffineExpr size : shapeOf(value))
      size.walk([&](AffineExpr part) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
          count = std::max<size_t>(count, symbol.getPosition() + 1);
      });
  return count;
}

/// Small odd numbers, within the range that the program is meant for.
SmallVector<int64_t> symbolsOf(func::FuncOp function) {
  auto bounds = [&](StringRef name) {
    auto values = function->getAttrOfType<DenseI64ArrayAttr>(name);
    return values ? values.asArrayRef() : ArrayRef<int64_t>();
  };
  ArrayRef<int64_t> least = bounds(kSymbolMinAttr), greatest = bounds(kSymbolMaxAttr);
  SmallVector<int64_t> symbols;
  for (size_t i = 0; i < symbolCount(function); ++i) {
    auto size = static_cast<int64_t>(3 + 2 * i);
    if (i < least.size())
      size = std::max(size, least[i]);
    if (i < greatest.size())
      size = std::min(size, greatest[i]);
    symbols.push_back(size);
  }
  return symbols;
}

/// Floats from -2 to 2, of either sign; integers 0 and 1, which any table has as indices.
Tensor inputFor(Value argument, ArrayRef<int64_t> symbols) {
  bool isFloat = reference::wideType(elementOf(argument)) == DType::F64;
  Tensor numbers = Tensor::allocate(isFloat ? DType::F64 : DType::I64,
                                    reference::resultShape(argument, symbols));
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    int64_t number = (i * 37 + 11) % 64;
    if (isFloat)
      numbers.as<double>()[i] = static_cast<double>(number - 31) / 16;
    else
      numbers.as<int64_t>()[i] = number / 16 % 2;
  }
  return numbers.converted(storageOf(toDType(elementOf(argument))))
      .viewedAs(toDType(elementOf(argument)));
}

/// The function's results, floats in f64 and integers in i64.
std::vector<Tensor> answersOf(func::FuncOp function) {
  SmallVector<int64_t> symbols = symbolsOf(function);
  std::vector<Tensor> inputs;
  for (Value argument : function.getArguments())
    inputs.push_back(inputFor(argument, symbols));
  std::vector<Tensor> answers = evaluateFunction(function, inputs, symbols, /*keepDouble=*/true);
  for (auto [i, answer] : llvm::enumerate(answers))
    if (answer.dtype() != DType::F64) {
      if (auto type = function.getResultAttrOfType<TypeAttr>(i, kTypeAttr))
        answer = answer.viewedAs(toDType(type.getValue()));
      answer = answer.viewedAs(storageOf(answer.dtype())).converted(DType::I64);
    }
  return answers;
}

Attribute attributeOf(const Tensor &tensor, MLIRContext *context) {
  Type element = tensor.dtype() == DType::F64 ? Type(Float64Type::get(context))
                                              : Type(IntegerType::get(context, 64));
  return tensorAttribute(tensor, RankedTensorType::get(tensor.shape(), element));
}

/// How the results differ; empty if they do not.
std::string difference(const Tensor &found, const Tensor &kept) {
  if (found.dtype() != kept.dtype() || found.shape() != kept.shape())
    return "expected the shape " + shapeString(kept.shape()) + ", got " +
           shapeString(found.shape());
  if (found.dtype() == DType::I64)
    return std::equal(found.as<int64_t>(), found.as<int64_t>() + found.elements(),
                      kept.as<int64_t>())
               ? ""
               : "integers differ";
  double largest = 0;
  for (int64_t i = 0; i < kept.elements(); ++i)
    if (std::isfinite(kept.as<double>()[i]))
      largest = std::max(largest, std::abs(kept.as<double>()[i]));
  for (int64_t i = 0; i < kept.elements(); ++i) {
    double a = found.as<double>()[i], b = kept.as<double>()[i];
    bool isSame =
        a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * largest;
    if (!isSame)
      return "element " + std::to_string(i) + ": expected " + std::to_string(b) + ", got " +
             std::to_string(a);
  }
  return "";
}

struct KeepAnswers : PassWrapper<KeepAnswers, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KeepAnswers)
  StringRef getArgument() const final { return "keep-answers"; }
  StringRef getDescription() const final { return "Keep the function's results in an attribute"; }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isPrivate())
      return;
    try {
      SmallVector<Attribute> kept;
      for (const Tensor &answer : answersOf(function))
        kept.push_back(attributeOf(answer, &getContext()));
      function->setAttr(answersAttr, ArrayAttr::get(&getContext(), kept));
    } catch (const Error &) {
      // The numbers are not inputs of the program: its checks reject them.
    } catch (const InternalError &error) {
      function.emitError(error.what());
      signalPassFailure();
    }
  }
};

struct CompareAnswers : PassWrapper<CompareAnswers, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CompareAnswers)
  StringRef getArgument() const final { return "compare-answers"; }
  StringRef getDescription() const final {
    return "Fail if the results differ from the saved ones";
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto kept = function->getAttrOfType<ArrayAttr>(answersAttr);
    if (!kept)
      return;
    try {
      for (auto [i, answer] : llvm::enumerate(answersOf(function)))
        if (std::string how = difference(answer, constantTensor(cast<ElementsAttr>(kept[i])));
            !how.empty())
          throw Error(ErrorKind::InvalidModel, "result " + std::to_string(i) + ": " + how);
    } catch (const std::exception &error) {
      function.emitError(error.what());
      signalPassFailure();
    }
    function->removeAttr(answersAttr);
  }
};

} // namespace

void registerAnswerPasses() {
  PassRegistration<KeepAnswers>();
  PassRegistration<CompareAnswers>();
}

} // namespace headrace
