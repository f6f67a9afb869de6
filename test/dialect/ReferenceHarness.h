// Parses small programs and evaluates them by the reference.
#pragma once

#include "dialect/Hr.h"
#include "dialect/reference/Evaluator.h"
#include "runtime/system/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace headrace {

template <class T> constexpr DType dtypeOf() {
  if constexpr (std::is_same_v<T, double>)
    return DType::F64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::F32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::I64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::I32;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DType::I8;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::U8;
  else
    return DType::Bool;
}

template <class T> Tensor tensor(Shape shape, const std::vector<T> &values) {
  Tensor result = Tensor::allocate(dtypeOf<T>(), std::move(shape));
  EXPECT_EQ(result.elements(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>)
      result.as<uint8_t>()[i] = values[i];
    else
      result.as<T>()[i] = values[i];
  }
  return result;
}

template <class T> std::vector<T> values(const Tensor &tensor) {
  EXPECT_EQ(nameOf(tensor.dtype()), nameOf(dtypeOf<T>()));
  if constexpr (std::is_same_v<T, bool>) {
    auto *data = tensor.as<uint8_t>();
    return std::vector<bool>(data, data + tensor.elements());
  } else {
    auto *data = tensor.as<T>();
    return std::vector<T>(data, data + tensor.elements());
  }
}

class ReferenceTest : public testing::Test {
protected:
  ReferenceTest() {
    context.loadDialect<hr::HrDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                        mlir::math::MathDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &program) {
    return mlir::parseSourceString<mlir::ModuleOp>(program, &context);
  }

  /// All results of the program's only function.
  std::vector<Tensor> evaluateAll(const std::string &program, const std::vector<Tensor> &inputs,
                                  const std::vector<int64_t> &symbols = {},
                                  bool keepDouble = false) {
    auto module = parse(program);
    if (!module)
      throw std::runtime_error("the test's program does not parse");
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    return evaluateFunction(function, inputs, symbols, keepDouble);
  }

  Tensor evaluate(const std::string &program, const std::vector<Tensor> &inputs,
                  const std::vector<int64_t> &symbols = {}) {
    return evaluateAll(program, inputs, symbols).front();
  }

  /// One operator `%r = <text>` over arguments %a, %b, ... of these types.
  Tensor operation(const std::string &text, const std::vector<std::string> &types,
                   const std::string &resultType, const std::vector<Tensor> &inputs,
                   const std::vector<int64_t> &symbols = {}) {
    std::string arguments, operands;
    for (size_t i = 0; i < types.size(); ++i) {
      std::string separator = i == 0 ? "" : ", ";
      arguments += separator + "%" + std::string(1, static_cast<char>('a' + i)) + ": " + types[i];
      operands += separator + types[i];
    }
    std::string signature = " : (" + operands + ") -> " + resultType;
    size_t body = text.find('{', text.find("hr.map"));
    bool isMap = text.starts_with("hr.map");
    std::string line =
        isMap ? text.substr(0, body) + signature + " " + text.substr(body) : text + signature;
    return evaluate("func.func @f(" + arguments + ") -> " + resultType + " {\n %r = " + line +
                        "\n return %r : " + resultType + "\n}",
                    inputs, symbols);
  }

  /// A map whose body is one operation on its arguments %x, %y, ...
  Tensor map(const std::string &scalar, const std::vector<std::string> &elements,
             const std::string &resultElement, const std::vector<Tensor> &inputs) {
    static const char *names[] = {"x", "y", "z"};
    std::string shape = "tensor<" + shapeString(inputs[0].shape()) + "x";
    std::string operands, arguments;
    std::vector<std::string> types;
    for (size_t i = 0; i < elements.size(); ++i) {
      std::string separator = i == 0 ? "" : ", ";
      operands += separator + "%" + std::string(1, static_cast<char>('a' + i));
      arguments += separator + "%" + names[i] + ": " + elements[i];
      types.push_back(shape + elements[i] + ">");
    }
    return operation("hr.map(" + operands + ") {\n ^bb0(" + arguments + "):\n %r = " + scalar +
                         "\n hr.yield %r : " + resultElement + "\n}",
                     types, shape + resultElement + ">", inputs);
  }

  mlir::MLIRContext context;
};

} // namespace headrace
