#include "GradientProgram.h"

#include "dialect/reference/Evaluator.h"
#include "driver/Compiler.h"
#include "driver/RunPasses.h"
#include "transform/gradient/Gradient.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace headrace {
namespace {

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

std::vector<Tensor> inputsOf(func::FuncOp function, const std::vector<int64_t> &sizes,
                             Numbers numbers, unsigned seed) {
  std::vector<Tensor> inputs;
  for (BlockArgument argument : function.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    Shape shape;
    for (AffineExpr dim : shapeOf(type))
      shape.push_back(toDimExpr(dim).evaluate(sizes));
    Tensor tensor = randomTensor(toDType(type.getElementType()), shape, Fill::Uniform, seed++)
                        .converted(toDType(type.getElementType()));
    Tensor own = Tensor::allocate(tensor.dtype(), tensor.shape());
    if (tensor.bytes() > 0)
      std::memcpy(own.data(), tensor.data(), tensor.bytes());
    if (own.dtype() == DType::F64)
      for (int64_t i = 0; i < own.elements(); ++i) {
        double &x = own.as<double>()[i];
        x = numbers == Numbers::Positive ? (x + 2) / 2 + 0.3
            : numbers == Numbers::Unit   ? x * 0.45
                                         : x;
      }
    inputs.push_back(own);
  }
  return inputs;
}

/// The sum of all results of floating-point type, each element weighted.
double weighted(const std::vector<Tensor> &results, const std::vector<Tensor> &weights) {
  double total = 0;
  size_t next = 0;
  for (const Tensor &result : results) {
    if (result.dtype() != DType::F64)
      continue;
    bool scalar = result.elements() == 1 && next >= weights.size();
    for (int64_t i = 0; i < result.elements(); ++i)
      total += result.as<double>()[i] * (scalar ? 1 : weights[next].as<double>()[i]);
    next += !scalar;
  }
  return total;
}

} // namespace

LevelOneProgram GradientProgram::gradient() {
  std::shared_ptr<MLIRContext> borrowed(context(), [](MLIRContext *) {});
  return differentiated({"test", borrowed, module().clone()}, options);
}

void GradientProgram::checkGradient(const Sizes &sizes, Numbers numbers, bool compiled) {
  LevelOneProgram joint;
  try {
    joint = gradient();
  } catch (const std::exception &error) {
    FAIL() << error.what() << "\n" << text();
  }
  func::FuncOp plain = entryFunction(module()), function = entryFunction(*joint.module);
  auto counts = function->getAttrOfType<DenseI64ArrayAttr>(kGradientAttr);
  auto arguments = static_cast<size_t>(counts[0]), results = static_cast<size_t>(counts[1]);
  std::vector<Tensor> inputs = inputsOf(function, sizes, numbers, 1);
  std::vector<Tensor> weights(inputs.begin() + arguments, inputs.end());
  std::vector<Tensor> all = evaluateFunction(function, inputs, sizes, /*keepDouble=*/true);
  inputs.resize(arguments);
  size_t gradient = results;
  for (Tensor &input : inputs) {
    if (input.dtype() != DType::F64)
      continue;
    ASSERT_LT(gradient, all.size());
    const Tensor &actual = all[gradient++];
    ASSERT_EQ(actual.shape(), input.shape());
    for (int64_t i = 0; i < input.elements(); ++i) {
      double &x = input.as<double>()[i], at = x, step = 1e-5;
      auto moved = [&](double to) {
        x = to;
        return weighted(evaluateFunction(plain, inputs, sizes, /*keepDouble=*/true), weights);
      };
      double slope = (moved(at + step) - moved(at - step)) / (2 * step);
      x = at;
      ASSERT_NEAR(actual.as<double>()[i], slope, 2e-6 * std::max(1.0, std::abs(slope)))
          << "element " << i << " of the gradient of input " << (&input - inputs.data()) << "\n"
          << text() << textOf(*joint.module);
    }
  }
  if (compiled) {
    CompiledProgram program(textOf(*joint.module));
    program.check(sizes);
  }
}

void GradientProgram::checkSplit(const Sizes &sizes) {
  std::shared_ptr<MLIRContext> borrowed(context(), [](MLIRContext *) {});
  DirectionPrograms split = splitByDirection({"test", borrowed, module().clone()}, options);
  LevelOneProgram joint = gradient();
  func::FuncOp both = entryFunction(*joint.module);
  std::vector<Tensor> inputs = inputsOf(both, sizes, Numbers::Any, 1);
  std::vector<Tensor> expected = evaluateFunction(both, inputs, sizes, true);
  auto count = static_cast<size_t>(entryFunction(module()).getNumArguments());
  std::vector<Tensor> own(inputs.begin(), inputs.begin() + count);
  std::vector<Tensor> seeds(inputs.begin() + count, inputs.end());
  std::vector<Tensor> forward =
      evaluateFunction(entryFunction(*split.forward.module), own, sizes, true);
  std::vector<Tensor> taken;
  for (const SavedTensor &kept : split.kept)
    taken.push_back(kept.place == SavedTensor::Place::Input ? own[kept.index]
                                                            : forward[kept.index]);
  // The program of both knows that the gradient of a scalar is 1.
  size_t next = 0;
  for (Type type : entryFunction(module()).getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bool scalar = tensor.hasStaticShape() && tensor.getNumElements() == 1;
    Tensor one = Tensor::allocate(DType::F64, Shape(tensor.getRank(), 1));
    *one.as<double>() = 1;
    taken.push_back(scalar ? one : seeds.at(next++));
  }
  std::vector<Tensor> backward =
      evaluateFunction(entryFunction(*split.backward.module), taken, sizes, true);
  size_t outputs = entryFunction(module()).getNumResults();
  ASSERT_EQ(expected.size(), outputs + backward.size());
  for (size_t i = 0; i < expected.size(); ++i)
    expectClose(i < outputs ? forward[i] : backward[i - outputs], expected[i],
                "result " + std::to_string(i));
}

} // namespace headrace
