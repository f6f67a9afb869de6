// Models written as plain structs, imported, and what to look for in the result.
#pragma once

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "frontend/onnx/import/Importer.h"
#include "runtime/system/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>
#include <numeric>

namespace headrace::onnx::test {

template <class T> Tensor tensorOf(DType dtype, Shape shape, std::vector<T> values) {
  Tensor tensor = Tensor::allocate(dtype, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.as<T>());
  return tensor;
}
inline Tensor ints(std::vector<int64_t> values) {
  return tensorOf<int64_t>(DType::I64, {static_cast<int64_t>(values.size())}, values);
}
/// 0, 1, 2, ...
inline Tensor floats(Shape shape) {
  std::vector<float> values(elementCount(shape));
  std::iota(values.begin(), values.end(), 0.0f);
  return tensorOf<float>(DType::F32, shape, values);
}

inline Attribute attribute(std::string name, int64_t value) {
  Attribute result;
  result.name = std::move(name);
  result.kind = Attribute::Int;
  result.i = value;
  return result;
}
inline Attribute attribute(std::string name, std::vector<int64_t> values) {
  Attribute result;
  result.name = std::move(name);
  result.kind = Attribute::Ints;
  result.ints = std::move(values);
  return result;
}
inline Attribute attribute(std::string name, std::string_view text) {
  Attribute result;
  result.name = std::move(name);
  result.kind = Attribute::String;
  result.s = text;
  return result;
}

/// A model put together step by step. Sizes in text are free: "batch", "" for unknown.
struct ModelBuilder {
  Model model;

  explicit ModelBuilder(int64_t opset = 17) {
    model.irVersion = 8;
    model.opsets[""] = opset;
    model.graph.name = "test";
  }
  ModelBuilder &input(std::string name, std::vector<std::string> dims, DType dtype = DType::F32) {
    std::vector<Dim> shape;
    for (const std::string &dim : dims) {
      bool isNumber = !dim.empty() && (std::isdigit(dim[0]) || dim[0] == '-');
      shape.push_back(isNumber ? Dim{std::stoll(dim), ""} : Dim{std::nullopt, dim});
    }
    model.graph.inputs.push_back({std::move(name), dtype, shape});
    return *this;
  }
  ModelBuilder &constant(std::string name, Tensor tensor) {
    model.graph.initializers.push_back({std::move(name), std::move(tensor)});
    return *this;
  }
  ModelBuilder &node(std::string opType, std::vector<std::string> inputs,
                     std::vector<std::string> outputs, std::vector<Attribute> attributes = {}) {
    std::string name = "n" + std::to_string(model.graph.nodes.size());
    model.graph.nodes.push_back({name, std::move(opType), "", std::move(inputs), std::move(outputs),
                                 std::move(attributes)});
    return *this;
  }
  ModelBuilder &output(std::string name) {
    model.graph.outputs.push_back({std::move(name), std::nullopt, std::nullopt});
    return *this;
  }
};

/// An imported model, with its context.
struct Imported {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// Throws the Error of a model that depends on data, too.
  explicit Imported(const ModelBuilder &builder, const SizeRanges &sizes = {}) {
    ImportedModel imported = importModel(builder.model, context, "model.onnx", sizes);
    if (imported.dependence)
      throw imported.dependence->error;
    module = std::move(imported.module);
  }

  mlir::func::FuncOp main() { return module->lookupSymbol<mlir::func::FuncOp>("main"); }
  template <class Op> std::vector<Op> all() {
    std::vector<Op> found;
    module->walk([&](Op op) { found.push_back(op); });
    return found;
  }
  std::string resultShape(unsigned i = 0) {
    return shapeText(shapeOf(mlir::cast<mlir::RankedTensorType>(main().getResultTypes()[i])));
  }
};

/// The Error that importing the model throws; nothing may be printed meanwhile.
inline Error failure(const ModelBuilder &builder) {
  testing::internal::CaptureStderr();
  std::optional<Error> caught;
  try {
    Imported imported(builder);
  } catch (const Error &error) {
    caught = error;
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  if (!caught) {
    ADD_FAILURE() << "expected an Error";
    return Error(ErrorKind::Io, "");
  }
  return *caught;
}

} // namespace headrace::onnx::test
