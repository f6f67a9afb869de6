// Reference evaluation of operators that pick, place and order elements, and of recurrences.
#include "ReferenceHarness.h"
#include <cmath>

namespace headrace {
namespace {

TEST_F(ReferenceTest, Gather) {
  Tensor data = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor y = operation("hr.gather %a, %b {axis = 1 : i64}", {"tensor<2x3xf32>", "tensor<2x2xi64>"},
                       "tensor<2x2x2xf32>", {data, tensor<int64_t>({2, 2}, {0, -1, 1, 0})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{1, 3, 2, 1, 4, 6, 5, 4}));
  Tensor rows = operation("hr.gather %a, %b {axis = 0 : i64}", {"tensor<2x3xf32>", "tensor<i64>"},
                          "tensor<3xf32>", {data, tensor<int64_t>({}, {1})});
  EXPECT_EQ(values<float>(rows), (std::vector<float>{4, 5, 6}));
  Tensor outside =
      operation("hr.gather %a, %b {axis = 1 : i64}", {"tensor<2x3xf32>", "tensor<2xi64>"},
                "tensor<2x2xf32>", {data, tensor<int64_t>({2}, {INT64_MAX, INT64_MIN})});
  EXPECT_EQ(values<float>(outside), (std::vector<float>{3, 1, 6, 4}));
  EXPECT_THROW(operation("hr.gather %a, %b {axis = 0 : i64}", {"tensor<0xf32>", "tensor<1xi64>"},
                         "tensor<1xf32>", {tensor<float>({0}, {}), tensor<int64_t>({1}, {0})}),
               Error);
}

TEST_F(ReferenceTest, ScatterPutsAddsMultipliesAndCompares) {
  Tensor data = tensor<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor updates = tensor<float>({1, 3, 2}, {10, -1, 20, -2, 30, -3});
  Tensor indices = tensor<int64_t>({3}, {0, -1, 0});
  auto scatter = [&](const std::string &kind) {
    return values<float>(operation("hr.scatter %a, %b into %c" + kind,
                                   {"tensor<1x3x2xf32>", "tensor<3xi64>", "tensor<1x3x2xf32>"},
                                   "tensor<1x3x2xf32>", {updates, indices, data}));
  };
  EXPECT_EQ(scatter(""), (std::vector<float>{30, -3, 3, 4, 20, -2}));
  EXPECT_EQ(scatter(" by sum"), (std::vector<float>{41, -2, 3, 4, 25, 4}));
  EXPECT_EQ(scatter(" by prod"), (std::vector<float>{300, 6, 3, 4, 100, -12}));
  EXPECT_EQ(scatter(" by max"), (std::vector<float>{30, 2, 3, 4, 20, 6}));
  EXPECT_EQ(scatter(" by min"), (std::vector<float>{1, -3, 3, 4, 5, -2}));
  Tensor onZeros = operation("hr.scatter %a, %b by sum", {"tensor<1x3x2xf32>", "tensor<3xi64>"},
                             "tensor<1x2x2xf32>", {updates, indices});
  EXPECT_EQ(values<float>(onZeros), (std::vector<float>{40, -4, 20, -2}));
}

TEST_F(ReferenceTest, ScatterComparesUnsignedNumbersWithoutSign) {
  Tensor y =
      operation("hr.scatter %a, %b into %c by max",
                {"tensor<1x1x1xui8>", "tensor<1xi64>", "tensor<1x1x1xui8>"}, "tensor<1x1x1xui8>",
                {tensor<uint8_t>({1, 1, 1}, {200}), tensor<int64_t>({1}, {0}),
                 tensor<uint8_t>({1, 1, 1}, {100})});
  EXPECT_EQ(values<uint8_t>(y), std::vector<uint8_t>{200});
}

TEST_F(ReferenceTest, SortKeepsTheOrderOfEqualElementsAndPutsNaNLast) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = tensor<float>({5}, {2, nan, 1, 2, -1});
  auto sort = [&](const std::string &options, const std::string &type) {
    return values<int64_t>(operation("hr.sort %a " + options, {"tensor<5xf32>"}, type, {x}));
  };
  EXPECT_EQ(sort("{axis = 0 : i64}", "tensor<5xi64>"), (std::vector<int64_t>{4, 2, 0, 3, 1}));
  EXPECT_EQ(sort("{axis = 0 : i64, descending = true}", "tensor<3xi64>"),
            (std::vector<int64_t>{1, 0, 3}));
  Tensor columns = operation("hr.sort %a {axis = 0 : i64}", {"tensor<3x2xi8>"}, "tensor<2x2xi64>",
                             {tensor<int8_t>({3, 2}, {3, -1, 1, 5, 2, 0})});
  EXPECT_EQ(values<int64_t>(columns), (std::vector<int64_t>{1, 0, 2, 2}));
  EXPECT_ANY_THROW(sort("{axis = 0 : i64}", "tensor<6xi64>"));
  EXPECT_ANY_THROW(sort("{axis = 1 : i64}", "tensor<5xi64>"));
}

TEST_F(ReferenceTest, FoldReducesTuples) {
  auto largest = [&](const std::string &component, const std::string &type,
                     const std::string &initial) {
    return "func.func @f(%a: tensor<2x3xf32>) -> tensor<2x" + type + R"(> {
      %i = hr.fold(%a) over affine_map<() -> (2, 3)> maps [affine_map<(i, k) -> (i, k)>]
          component )" +
           component + " {reduced = 1, initial = " + initial +
           "} : (tensor<2x3xf32>) -> tensor<2x" + type + R"(> {
      ^bb0(%x: f32):
        %k = hr.index 1
        %p = arith.index_cast %k : index to i64
        hr.yield %p, %x : i64, f32
      } combine {
      ^bb0(%p: i64, %x: f32, %q: i64, %y: f32):
        %less = arith.cmpf olt, %x, %y : f32
        %n = arith.select %less, %q, %p : i64
        %m = arith.select %less, %y, %x : f32
        hr.yield %n, %m : i64, f32
      }
      return %i : tensor<2x)" +
           type + ">\n}";
  };
  Tensor a = tensor<float>({2, 3}, {1, 5, 2, -1, -3, -2});
  std::string initial = "[7, -2.0 : f32]"; // the first tuple of each reduction
  EXPECT_EQ(values<int64_t>(evaluate(largest("0", "i64", initial), {a})),
            (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(values<float>(evaluate(largest("1", "f32", "[7, 2.0 : f32]"), {a})),
            (std::vector<float>{5, 2}));
  EXPECT_EQ(values<int64_t>(evaluate(largest("0", "i64", "[7, 2.0 : f32]"), {a})),
            (std::vector<int64_t>{1, 7}));
  EXPECT_ANY_THROW(evaluate(largest("2", "f32", initial), {a}));
  EXPECT_ANY_THROW(evaluate(largest("0", "i64", "[7]"), {a}));
  EXPECT_ANY_THROW(evaluate(largest("0", "i64", "[7, 2]"), {a}));
}

TEST_F(ReferenceTest, RecurrenceCarriesItsState) {
  Tensor y = evaluate(R"(
    func.func @f(%x: tensor<3x2xf32>, %s: tensor<2xf32>, %w: tensor<f32>) -> tensor<3x2xf32> {
      %y = hr.recur(%x) from %s with(%w)
          : (tensor<3x2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<3x2xf32> {
      ^bb0(%state: tensor<2xf32>, %now: tensor<2xf32>, %factor: tensor<f32>):
        %n = hr.compute(%state, %now, %factor) over affine_map<() -> (2)>
            maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>]
            : (tensor<2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {
        ^bb0(%a: f32, %b: f32, %c: f32):
          %p = arith.mulf %a, %c : f32
          %q = arith.addf %p, %b : f32
          hr.yield %q : f32
        }
        hr.yield %n : tensor<2xf32>
      }
      return %y : tensor<3x2xf32>
    })",
                      {tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6}), tensor<float>({2}, {1, -1}),
                       tensor<float>({}, {2})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{3, 0, 9, 4, 23, 14}));
}

} // namespace
} // namespace headrace
