// Reference evaluation of kernels (level 2).
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "ReferenceHarness.h"
#include <cmath>

namespace headrace {
namespace {

/// Evaluates a function of one kernel whose body is given, on inputs of these types.
class KernelTest : public ReferenceTest {
protected:
  KernelTest() {
    context.loadDialect<mlir::affine::AffineDialect, mlir::linalg::LinalgDialect,
                        mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  }

  Tensor kernel(const std::string &body, const std::vector<std::string> &types,
                const std::string &result, const std::vector<Tensor> &inputs) {
    std::string parameters, names, list, arguments;
    for (size_t i = 0; i < types.size(); ++i) {
      std::string name = std::to_string(i), comma = i == 0 ? "" : ", ";
      parameters += comma + "%i" + name + ": " + types[i];
      names += comma + "%i" + name;
      list += comma + types[i];
      arguments += comma + "%a" + name + ": " + types[i];
    }
    return evaluateAll("func.func @f(" + parameters + ") -> " + result +
                           " {\n%r = hr.kernel \"k\"(" + names +
                           ") of [\"k\"] {cost = affine_map<() -> (0, 0, 0)>} : (" + list +
                           ") -> " + result + " {\n^bb0(" + arguments + "):\n" + body +
                           "\n}\nreturn %r : " + result + "\n}",
                       inputs)
        .front();
  }
};

TEST_F(KernelTest, ProductsWithAnEpilogue) {
  Tensor a = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
         b = tensor<float>({3, 2}, {1, 0, 0, 1, 1, 1});
  Tensor result = kernel(R"(
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<2x2xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
      %m = linalg.matmul ins(%a0, %a1 : tensor<2x3xf32>, tensor<3x2xf32>)
                         outs(%f : tensor<2x2xf32>) -> tensor<2x2xf32>
      %o = tensor.empty() : tensor<2x2xf32>
      %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
                           iterator_types = ["parallel", "parallel"]}
          ins(%m : tensor<2x2xf32>) outs(%o : tensor<2x2xf32>) {
      ^bb0(%x: f32, %y: f32):
        %i = linalg.index 0 : index
        %c = arith.index_cast %i : index to i32
        %n = arith.sitofp %c : i32 to f32
        %t = arith.addf %x, %n : f32
        linalg.yield %t : f32
      } -> tensor<2x2xf32>
      hr.yield %s : tensor<2x2xf32>)",
                         {"tensor<2x3xf32>", "tensor<3x2xf32>"}, "tensor<2x2xf32>", {a, b});
  EXPECT_EQ(values<float>(result), (std::vector<float>{4, 10, 6, 12}));
}

TEST_F(KernelTest, BlocksOfRowsWriteTheirParts) {
  Tensor x = tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor result = kernel(R"(
      %e = tensor.empty() : tensor<3x2xf32>
      %r = scf.forall (%b) in (2) shared_outs(%o = %e) -> (tensor<3x2xf32>) {
        %first = affine.apply affine_map<(d) -> (d * 2)>(%b)
        %rows = affine.min affine_map<(d) -> (2, -d * 2 + 3)>(%b)
        %part = tensor.extract_slice %a0[%first, 0] [%rows, 2] [1, 1]
            : tensor<3x2xf32> to tensor<?x2xf32>
        scf.forall.in_parallel {
          tensor.parallel_insert_slice %part into %o[%first, 0] [%rows, 2] [1, 1]
              : tensor<?x2xf32> into tensor<3x2xf32>
        }
      }
      hr.yield %r : tensor<3x2xf32>)",
                         {"tensor<3x2xf32>"}, "tensor<3x2xf32>", {x});
  EXPECT_EQ(values<float>(result), values<float>(x));
}

TEST_F(KernelTest, LoopsCarryTensorsAndPadding) {
  Tensor x = tensor<float>({2}, {1, 2}), rows = tensor<int64_t>({3}, {1, 0, 1});
  Tensor result = kernel(R"(
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %p = tensor.pad %a0 low[1] high[0] {
      ^bb0(%i: index):
        %v = arith.constant 7.0 : f32
        tensor.yield %v : f32
      } : tensor<2xf32> to tensor<3xf32>
      %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %p) -> (tensor<3xf32>) {
        %given = tensor.extract %a1[%i] : tensor<3xi64>
        %row = arith.index_cast %given : i64 to index
        %one = tensor.extract_slice %s[%row] [1] [1] : tensor<3xf32> to tensor<1xf32>
        %n = tensor.insert_slice %one into %s[%i] [1] [1] : tensor<1xf32> into tensor<3xf32>
        scf.yield %n : tensor<3xf32>
      }
      hr.yield %r : tensor<3xf32>)",
                         {"tensor<2xf32>", "tensor<3xi64>"}, "tensor<3xf32>", {x, rows});
  EXPECT_EQ(values<float>(result), (std::vector<float>{1, 1, 1}));
}

TEST_F(KernelTest, WhatIsNotComputedIsNotANumber) {
  Tensor result = kernel(R"(
      %e = tensor.empty() : tensor<2xf32>
      hr.yield %e : tensor<2xf32>)",
                         {}, "tensor<2xf32>", {});
  EXPECT_TRUE(std::isnan(values<float>(result)[0]));
}

TEST_F(KernelTest, AccessesOutsideOfATensorAreErrorsOfTheCompiler) {
  Tensor x = tensor<float>({2}, {1, 2});
  auto read = [&](const std::string &index) {
    return kernel(R"(
      %e = tensor.empty() : tensor<1xf32>
      %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          outs(%e : tensor<1xf32>) {
      ^bb0(%y: f32):
        %i = arith.constant )" +
                      index + R"( : index
        %v = tensor.extract %a0[%i] : tensor<2xf32>
        linalg.yield %v : f32
      } -> tensor<1xf32>
      hr.yield %s : tensor<1xf32>)",
                  {"tensor<2xf32>"}, "tensor<1xf32>", {x});
  };
  EXPECT_EQ(values<float>(read("1")), std::vector<float>{2});
  EXPECT_THROW(read("2"), InternalError);
  EXPECT_THROW(kernel(R"(
      %e = tensor.empty() : tensor<2xf32>
      %c1 = arith.constant 1 : index
      %s = tensor.insert_slice %a0 into %e[%c1] [2] [1] : tensor<2xf32> into tensor<2xf32>
      hr.yield %s : tensor<2xf32>)",
                      {"tensor<2xf32>"}, "tensor<2xf32>", {x}),
               InternalError);
}

} // namespace
} // namespace headrace
