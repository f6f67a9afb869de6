// Reference evaluation of every operator besides maps and windows, and of whole programs.
#include "ReferenceHarness.h"
#include <cmath>

namespace headrace {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_F(ReferenceTest, Constants) {
  auto results = evaluateAll(R"(
    func.func @f() -> (tensor<3xf32>, tensor<2xf16>, tensor<2xbf16>, tensor<2x2xi8>, tensor<9xi1>,
                       tensor<2xi1>, tensor<0xf32>, tensor<1xui8>) {
      %a = hr.constant dense<[1.5, -2.0, 0.25]> : tensor<3xf32>
      %b = hr.constant dense<0.5> : tensor<2xf16>
      %c = hr.constant dense<[1.0, -3.0]> : tensor<2xbf16>
      %d = hr.constant dense<[[1, -2], [3, -128]]> : tensor<2x2xi8>
      %e = hr.constant dense<[1, 0, 0, 1, 1, 0, 0, 0, 1]> : tensor<9xi1>
      %g = hr.constant dense<true> : tensor<2xi1>
      %h = hr.constant dense<> : tensor<0xf32>
      %i = hr.constant dense<200> : tensor<1xui8>
      return %a, %b, %c, %d, %e, %g, %h, %i : tensor<3xf32>, tensor<2xf16>, tensor<2xbf16>,
        tensor<2x2xi8>, tensor<9xi1>, tensor<2xi1>, tensor<0xf32>, tensor<1xui8>
    })",
                             {});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{1.5, -2, 0.25}));
  EXPECT_EQ(nameOf(results[1].dtype()), "f16");
  EXPECT_EQ(values<float>(results[1].converted(DType::F32)), (std::vector<float>{0.5, 0.5}));
  EXPECT_EQ(values<float>(results[2].converted(DType::F32)), (std::vector<float>{1, -3}));
  EXPECT_EQ(values<int8_t>(results[3]), (std::vector<int8_t>{1, -2, 3, -128}));
  EXPECT_EQ(values<bool>(results[4]), (std::vector<bool>{1, 0, 0, 1, 1, 0, 0, 0, 1}));
  EXPECT_EQ(values<bool>(results[5]), (std::vector<bool>{1, 1}));
  EXPECT_EQ(results[6].elements(), 0);
  EXPECT_EQ(values<uint8_t>(results[7]), std::vector<uint8_t>{200});
}

TEST_F(ReferenceTest, Reductions) {
  Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 7});
  auto reduce = [&](const std::string &kindAndAxes, const std::string &type) {
    std::string kind = kindAndAxes.substr(0, kindAndAxes.find(' '));
    std::string axes = kindAndAxes.substr(kindAndAxes.find(' '));
    return values<float>(
        operation("hr.reduce " + kind + " %a axes" + axes, {"tensor<2x3xf32>"}, type, {x}));
  };
  EXPECT_EQ(reduce("sum [1]", "tensor<2xf32>"), (std::vector<float>{6, 16}));
  EXPECT_EQ(reduce("sum [0]", "tensor<3xf32>"), (std::vector<float>{5, 7, 10}));
  EXPECT_EQ(reduce("mean [0, 1]", "tensor<f32>"), (std::vector<float>{22.0f / 6}));
  EXPECT_EQ(reduce("max [0] {keep_dims = true}", "tensor<1x3xf32>"), (std::vector<float>{4, 5, 7}));
  EXPECT_EQ(reduce("min [1] {keep_dims = true}", "tensor<2x1xf32>"), (std::vector<float>{1, 4}));
  EXPECT_EQ(reduce("prod [1]", "tensor<2xf32>"), (std::vector<float>{6, 140}));
  EXPECT_EQ(reduce("sum []", "tensor<2x3xf32>"), values<float>(x));
}

TEST_F(ReferenceTest, ReductionsOfNothingAndNaN) {
  Tensor none = tensor<float>({2, 0}, {});
  auto reduce = [&](const std::string &kind, const Tensor &x, const std::string &type) {
    return values<float>(
        operation("hr.reduce " + kind + " %a axes [1]", {type}, "tensor<2xf32>", {x}));
  };
  EXPECT_EQ(reduce("sum", none, "tensor<2x0xf32>")[1], 0);
  EXPECT_EQ(reduce("prod", none, "tensor<2x0xf32>")[1], 1);
  EXPECT_EQ(reduce("max", none, "tensor<2x0xf32>")[1], -kInfinity);
  EXPECT_EQ(reduce("min", none, "tensor<2x0xf32>")[1], kInfinity);
  EXPECT_TRUE(std::isnan(reduce("mean", none, "tensor<2x0xf32>")[1]));
  Tensor x = tensor<float>({2, 3}, {1, kNaN, 2, 3, 4, 5});
  for (const char *kind : {"max", "min", "sum", "mean"}) {
    auto result = reduce(kind, x, "tensor<2x3xf32>");
    EXPECT_TRUE(std::isnan(result[0]) && !std::isnan(result[1])) << kind;
  }
}

TEST_F(ReferenceTest, ReductionsOfIntegers) {
  Tensor x = tensor<int8_t>({3}, {100, 100, -7});
  auto reduce = [&](const std::string &kind) {
    return values<int8_t>(
        operation("hr.reduce " + kind + " %a axes [0]", {"tensor<3xi8>"}, "tensor<i8>", {x}))[0];
  };
  EXPECT_EQ(reduce("sum"), -63);
  EXPECT_EQ(reduce("prod"), static_cast<int8_t>(-70000));
  EXPECT_EQ(reduce("max"), 100);
  EXPECT_EQ(reduce("min"), -7);
  EXPECT_EQ(reduce("mean"), 64);
  auto flags = [&](const std::string &kind, std::vector<bool> x) -> bool {
    return values<bool>(operation("hr.reduce " + kind + " %a axes [0]", {"tensor<2xi1>"},
                                  "tensor<i1>", {tensor<bool>({2}, x)}))[0];
  };
  EXPECT_TRUE(flags("max", {true, false}));
  EXPECT_FALSE(flags("min", {true, false}));
  EXPECT_TRUE(flags("min", {true, true}));
  Tensor bytes = operation("hr.reduce max %a axes [0]", {"tensor<2xui8>"}, "tensor<ui8>",
                           {tensor<uint8_t>({2}, {200, 3})});
  EXPECT_EQ(values<uint8_t>(bytes)[0], 200);
}

TEST_F(ReferenceTest, Scans) {
  Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  auto scan = [&](const std::string &kindAndOptions) {
    size_t end = kindAndOptions.find(' ');
    return values<float>(
        operation("hr.scan " + kindAndOptions.substr(0, end) + " %a" + kindAndOptions.substr(end),
                  {"tensor<2x3xf32>"}, "tensor<2x3xf32>", {x}));
  };
  EXPECT_EQ(scan("sum {axis = 1 : i64}"), (std::vector<float>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(scan("sum {axis = 0 : i64}"), (std::vector<float>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(scan("prod {axis = 1 : i64, exclusive = true}"),
            (std::vector<float>{1, 1, 2, 1, 4, 20}));
  EXPECT_EQ(scan("sum {axis = 1 : i64, reverse = true}"), (std::vector<float>{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(scan("sum {axis = 1 : i64, exclusive = true, reverse = true}"),
            (std::vector<float>{5, 3, 0, 11, 6, 0}));
  Tensor wrapped = operation("hr.scan sum %a {axis = 0 : i64}", {"tensor<3xi8>"}, "tensor<3xi8>",
                             {tensor<int8_t>({3}, {100, 100, 100})});
  EXPECT_EQ(values<int8_t>(wrapped), (std::vector<int8_t>{100, -56, 44}));
  EXPECT_ANY_THROW(
      operation("hr.scan max %a {axis = 0 : i64}", {"tensor<2x3xf32>"}, "tensor<2x3xf32>", {x}));
}

TEST_F(ReferenceTest, MatrixProduct) {
  std::string text = "hr.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, "
                     "affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]";
  Tensor c = operation(
      text, {"tensor<2x3xf32>", "tensor<3x2xf32>"}, "tensor<2x2xf32>",
      {tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<float>({3, 2}, {7, 8, 9, 10, 11, 12})});
  EXPECT_EQ(values<float>(c), (std::vector<float>{58, 64, 139, 154}));
  Tensor none = operation(text, {"tensor<2x0xf32>", "tensor<0x2xf32>"}, "tensor<2x2xf32>",
                          {tensor<float>({2, 0}, {}), tensor<float>({0, 2}, {})});
  EXPECT_EQ(values<float>(none), (std::vector<float>{0, 0, 0, 0}));
  Tensor empty = operation(text, {"tensor<0x2xf32>", "tensor<2x3xf32>"}, "tensor<0x3xf32>",
                           {tensor<float>({0, 2}, {}), tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(empty.shape(), (Shape{0, 3}));
  Tensor bytes = operation(text, {"tensor<1x2xi8>", "tensor<2x1xi8>"}, "tensor<1x1xi8>",
                           {tensor<int8_t>({1, 2}, {100, 50}), tensor<int8_t>({2, 1}, {2, 1})});
  EXPECT_EQ(values<int8_t>(bytes), std::vector<int8_t>{-6});
}

/// Larger than every block of the implementation, with odd remainders.
TEST_F(ReferenceTest, LargerMatrixProduct) {
  int64_t m = 7, n = 301, k = 13;
  std::vector<float> a(m * k), b(k * n), expected(m * n, 0);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i % 9) - 4;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<float>(i % 7) - 3;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t p = 0; p < k; ++p)
        expected[i * n + j] += a[i * k + p] * b[p * n + j];
  Tensor c = operation("hr.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, "
                       "affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]",
                       {"tensor<7x13xf32>", "tensor<13x301xf32>"}, "tensor<7x301xf32>",
                       {tensor<float>({m, k}, a), tensor<float>({k, n}, b)});
  EXPECT_EQ(values<float>(c), expected);
}

/// Batch, transposed operands and result, two summed loops, and loops only one operand has.
TEST_F(ReferenceTest, GeneralContraction) {
  // result[n, b, m] = sum over k, l, u, v of lhs[k, b, m, u, l] * rhs[n, v, l, k, b]
  int64_t B = 2, M = 3, N = 4, K = 2, L = 3, U = 2, V = 2;
  std::vector<float> lhs(K * B * M * U * L), rhs(N * V * L * K * B), expected(N * B * M, 0);
  for (size_t i = 0; i < lhs.size(); ++i)
    lhs[i] = static_cast<float>(i * 5 % 13) - 6;
  for (size_t i = 0; i < rhs.size(); ++i)
    rhs[i] = static_cast<float>(i * 3 % 11) - 5;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n)
        for (int64_t k = 0; k < K; ++k)
          for (int64_t l = 0; l < L; ++l)
            for (int64_t u = 0; u < U; ++u)
              for (int64_t v = 0; v < V; ++v)
                expected[(n * B + b) * M + m] += lhs[(((k * B + b) * M + m) * U + u) * L + l] *
                                                 rhs[(((n * V + v) * L + l) * K + k) * B + b];
  Tensor c = operation("hr.contract %a, %b maps ["
                       "affine_map<(b, m, n, k, l, u, v) -> (k, b, m, u, l)>, "
                       "affine_map<(b, m, n, k, l, u, v) -> (n, v, l, k, b)>, "
                       "affine_map<(b, m, n, k, l, u, v) -> (n, b, m)>]",
                       {"tensor<2x2x3x2x3xf32>", "tensor<4x2x3x2x2xf32>"}, "tensor<4x2x3xf32>",
                       {tensor<float>({K, B, M, U, L}, lhs), tensor<float>({N, V, L, K, B}, rhs)});
  EXPECT_EQ(values<float>(c), expected);
}

TEST_F(ReferenceTest, RefusesContractionMapsOfDifferentDomains) {
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
  EXPECT_FALSE(parse(R"(func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
    %r = hr.contract %a, %b maps [affine_map<(i) -> (i)>, affine_map<(i, j) -> (j)>,
                                  affine_map<(i) -> (i)>]
      : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return
  })"));
}

TEST_F(ReferenceTest, Softmax) {
  Tensor x = tensor<double>({2, 2}, {1000, 1000 + std::log(3.0), -5, -5});
  auto result = values<double>(
      operation("hr.softmax %a {axis = 1 : i64}", {"tensor<2x2xf64>"}, "tensor<2x2xf64>", {x}));
  std::vector<double> expected{0.25, 0.75, 0.5, 0.5};
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(result[i], expected[i], 1e-13);
  auto logs = values<double>(operation("hr.softmax %a {axis = 1 : i64, log = true}",
                                       {"tensor<2x2xf64>"}, "tensor<2x2xf64>", {x}));
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(logs[i], std::log(expected[i]), 1e-12);
  // Along an axis that is not the last, with an entry that can never win.
  auto columns =
      values<float>(operation("hr.softmax %a {axis = 0 : i64}", {"tensor<2x2xf32>"},
                              "tensor<2x2xf32>", {tensor<float>({2, 2}, {0, -kInfinity, 0, 3})}));
  EXPECT_EQ(columns, (std::vector<float>{0.5, 0, 0.5, 1}));
  Tensor empty = operation("hr.softmax %a {axis = 1 : i64}", {"tensor<2x0xf32>"}, "tensor<2x0xf32>",
                           {tensor<float>({2, 0}, {})});
  EXPECT_EQ(empty.elements(), 0);
}

TEST_F(ReferenceTest, LayerNorm) {
  // A large offset that E[x^2] - E[x]^2 would not survive.
  Tensor x = tensor<double>({1, 2, 2}, {1e9 + 1, 1e9 + 3, 1e9 + 5, 1e9 + 7});
  Tensor scale = tensor<double>({2}, {1, 10}), bias = tensor<double>({2, 2}, {0, 0, 100, 100});
  auto whole = values<double>(operation("hr.layer_norm %a, %b, %c {axis = 1 : i64, epsilon = 4.0}",
                                        {"tensor<1x2x2xf64>", "tensor<2xf64>", "tensor<2x2xf64>"},
                                        "tensor<1x2x2xf64>", {x, scale, bias}));
  // Mean 1e9 + 4, variance 5, so the deviation is 3.
  std::vector<double> expected{-1, -10.0 / 3, 100 + 1.0 / 3, 110};
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(whole[i], expected[i], 1e-9) << i;
  auto rows = values<double>(operation("hr.layer_norm %a, %b {axis = 2 : i64, epsilon = 0.0}",
                                       {"tensor<1x2x2xf64>", "tensor<2xf64>"}, "tensor<1x2x2xf64>",
                                       {x, scale}));
  EXPECT_EQ(rows, (std::vector<double>{-1, 10, -1, 10}));
}

TEST_F(ReferenceTest, BatchNorm) {
  std::vector<Tensor> parameters{tensor<float>({2}, {2, 1}), tensor<float>({2}, {0, 5}),
                                 tensor<float>({2}, {1, 10}), tensor<float>({2}, {3, 0})};
  auto run = [&](const std::string &layout, const std::string &type, const Tensor &x) {
    std::vector<Tensor> inputs{x};
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    return values<float>(operation(
        "hr.batch_norm " + layout + " %a, %b, %c, %d, %e {epsilon = 1.0}",
        {type, "tensor<2xf32>", "tensor<2xf32>", "tensor<2xf32>", "tensor<2xf32>"}, type, inputs));
  };
  // (x - 1) / 2 * 2 and (x - 10) / 1 + 5
  EXPECT_EQ(run("channels_first", "tensor<1x2x2xf32>", tensor<float>({1, 2, 2}, {1, 2, 10, 12})),
            (std::vector<float>{0, 1, 5, 7}));
  EXPECT_EQ(run("channels_last", "tensor<1x2x2xf32>", tensor<float>({1, 2, 2}, {1, 10, 2, 12})),
            (std::vector<float>{0, 5, 1, 7}));
}

TEST_F(ReferenceTest, Transpose) {
  Tensor x = tensor<int32_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor y =
      operation("hr.transpose %a [2, 0, 1]", {"tensor<1x2x3xi32>"}, "tensor<3x1x2xi32>", {x});
  EXPECT_EQ(values<int32_t>(y), (std::vector<int32_t>{1, 4, 2, 5, 3, 6}));
  Tensor scalar =
      operation("hr.transpose %a []", {"tensor<f32>"}, "tensor<f32>", {tensor<float>({}, {3})});
  EXPECT_EQ(values<float>(scalar), std::vector<float>{3});
}

TEST_F(ReferenceTest, ReshapeAndBroadcast) {
  Tensor flags = tensor<bool>({2, 2}, {1, 0, 0, 1});
  Tensor flat = operation("hr.reshape %a", {"tensor<2x2xi1>"}, "tensor<4x1xi1>", {flags});
  EXPECT_EQ(flat.shape(), (Shape{4, 1}));
  EXPECT_EQ(values<bool>(flat), values<bool>(flags));
  Tensor wide = operation("hr.broadcast %a", {"tensor<2x1xf32>"}, "tensor<2x2x3xf32>",
                          {tensor<float>({2, 1}, {1, 2})});
  EXPECT_EQ(values<float>(wide), (std::vector<float>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
}

TEST_F(ReferenceTest, Slice) {
  Tensor x = tensor<float>({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  auto slice = [&](const std::string &text, const std::string &type,
                   std::vector<int64_t> symbols = {}) {
    return values<float>(
        operation("hr.slice %a from " + text, {"tensor<2x5xf32>"}, type, {x}, symbols));
  };
  EXPECT_EQ(slice("affine_map<() -> (1, 1)> steps [1, 2]", "tensor<1x2xf32>"),
            (std::vector<float>{6, 8}));
  EXPECT_EQ(slice("affine_map<() -> (1, 4)> steps [-1, -3]", "tensor<2x2xf32>"),
            (std::vector<float>{9, 6, 4, 1}));
  EXPECT_EQ(slice("affine_map<() -> (0, 5)> steps [1, 1]", "tensor<2x0xf32>").size(), 0u);
  // Constant starts are the verifier's to check; a symbolic one is known here only.
  const std::string from = "affine_map<()[s0] -> (0, s0)> ";
  EXPECT_THROW(slice(from + "steps [1, 1]", "tensor<2x2xf32>", {4}), Error);
  EXPECT_THROW(slice(from + "steps [1, -1]", "tensor<2x2xf32>", {0}), Error);
  // A step whose multiple would come around to 2 in 64 bits.
  EXPECT_THROW(slice(from + "steps [1, 4611686018427387905]", "tensor<2x5xf32>", {0}), Error);
  EXPECT_EQ(slice("affine_map<() -> (0, 3)> steps [1, 9223372036854775807]", "tensor<2x1xf32>"),
            (std::vector<float>{3, 8}));
}

TEST_F(ReferenceTest, SlicesOutsideTheirTensorAreMalformed) {
  Tensor x = tensor<float>({5}, {0, 1, 2, 3, 4});
  for (const char *slice : {"affine_map<() -> (4)> steps [1]", "affine_map<() -> (0)> steps [-1]",
                            "affine_map<() -> (0)> steps [9223372036854775807]"}) {
    mlir::ScopedDiagnosticHandler quiet(&context,
                                        [](mlir::Diagnostic &) { return mlir::success(); });
    EXPECT_ANY_THROW(operation(std::string("hr.slice %a from ") + slice, {"tensor<5xf32>"},
                               "tensor<3xf32>", {x}))
        << slice;
  }
}

TEST_F(ReferenceTest, SliceFromASymbolicStart) {
  Tensor y = operation("hr.slice %a from affine_map<()[s0] -> (s0 - 1)> steps [-1]",
                       {"tensor<?xf32, affine_map<()[s0] -> (s0)>>"}, "tensor<2xf32>",
                       {tensor<float>({4}, {1, 2, 3, 4})}, {4});
  EXPECT_EQ(values<float>(y), (std::vector<float>{4, 3}));
}

TEST_F(ReferenceTest, Concat) {
  Tensor y = operation("hr.concat %a, %b, %c {axis = 1 : i64}",
                       {"tensor<2x1xf32>", "tensor<2x0xf32>", "tensor<2x2xf32>"}, "tensor<2x3xf32>",
                       {tensor<float>({2, 1}, {1, 2}), tensor<float>({2, 0}, {}),
                        tensor<float>({2, 2}, {3, 4, 5, 6})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{1, 3, 4, 2, 5, 6}));
}

TEST_F(ReferenceTest, Pad) {
  Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  auto pad = [&](const std::string &attributes, const std::string &type) {
    return values<float>(
        operation("hr.pad %a {" + attributes + "}", {"tensor<2x2xf32>"}, type, {x}));
  };
  EXPECT_EQ(
      pad("low = array<i64: 0, 1>, high = array<i64: 1, 0>, value = 9.0 : f32", "tensor<3x3xf32>"),
      (std::vector<float>{9, 1, 2, 9, 3, 4, 9, 9, 9}));
  EXPECT_EQ(
      pad("low = array<i64: -1, 0>, high = array<i64: 0, 1>, value = 0.0 : f32", "tensor<1x3xf32>"),
      (std::vector<float>{3, 4, 0}));
  EXPECT_EQ(
      pad("low = array<i64: -3, 0>, high = array<i64: 2, 0>, value = 7.0 : f32", "tensor<1x2xf32>"),
      (std::vector<float>{7, 7}));
  Tensor bytes = operation("hr.pad %a {low = array<i64: 1>, high = array<i64: 0>, value = -1 : i8}",
                           {"tensor<1xi8>"}, "tensor<2xi8>", {tensor<int8_t>({1}, {5})});
  EXPECT_EQ(values<int8_t>(bytes), (std::vector<int8_t>{-1, 5}));
  Tensor flags = operation("hr.pad %a {low = array<i64: 1>, high = array<i64: 0>, value = true}",
                           {"tensor<1xi1>"}, "tensor<2xi1>", {tensor<bool>({1}, {false})});
  EXPECT_EQ(values<bool>(flags), (std::vector<bool>{true, false}));
}

const char *const kSymbolicProgram = R"(
  func.func @f(%x: tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>> {hr.name = "image"})
      -> (tensor<f32>, tensor<?xf32, affine_map<()[s0] -> (s0 * 2)>>)
      attributes {hr.symbols = ["batch"]} {
    %unused = hr.constant dense<1.0> : tensor<2xf32>
    %s = hr.reduce sum %x axes [0, 1]
      : (tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>) -> tensor<f32>
    %y = hr.map(%x, %x, %s) : (tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>,
        tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>, tensor<f32>)
        -> tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>> {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.divf %p, %c : f32
      hr.yield %q : f32
    }
    %z = hr.reshape %y : (tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>)
      -> tensor<?xf32, affine_map<()[s0] -> (s0 * 2)>>
    return %s, %z : tensor<f32>, tensor<?xf32, affine_map<()[s0] -> (s0 * 2)>>
  })";

TEST_F(ReferenceTest, ProgramWithSymbolicSizes) {
  auto results = evaluateAll(kSymbolicProgram, {tensor<float>({3, 2}, {1, 2, 3, 4, 5, 5})}, {3});
  EXPECT_EQ(values<float>(results[0]), std::vector<float>{20});
  EXPECT_EQ(values<float>(results[1]),
            (std::vector<float>{0.05f, 0.2f, 0.45f, 0.8f, 1.25f, 1.25f}));
  auto exact = evaluateAll(kSymbolicProgram, {tensor<float>({3, 2}, {1, 2, 3, 4, 5, 5})}, {3},
                           /*keepDouble=*/true);
  EXPECT_EQ(values<double>(exact[1])[0], 0.05);
  auto none = evaluateAll(kSymbolicProgram, {tensor<float>({0, 2}, {})}, {0});
  EXPECT_EQ(values<float>(none[0]), std::vector<float>{0});
  EXPECT_EQ(none[1].shape(), Shape{0});
}

TEST_F(ReferenceTest, ErrorsNameTheInput) {
  auto message = [&](const std::vector<Tensor> &inputs, int64_t batch) -> std::string {
    try {
      evaluateAll(kSymbolicProgram, inputs, {batch});
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({}, 3), "program 'f': expected 1 inputs, got 0");
  EXPECT_EQ(message({tensor<float>({4, 2}, std::vector<float>(8))}, 3),
            "input 'image': expected shape 3x2, got 4x2");
  EXPECT_EQ(message({tensor<double>({3, 2}, std::vector<double>(6))}, 3),
            "input 'image': expected type f32, got f64");
}

TEST_F(ReferenceTest, ResultsOutliveTheProgram) {
  Tensor result;
  {
    mlir::MLIRContext local;
    local.loadDialect<hr::HrDialect, mlir::func::FuncDialect>();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f() -> tensor<2xf64> { %c = hr.constant dense<[1.0, 2.0]> : tensor<2xf64> "
        "return %c : tensor<2xf64> }",
        &local);
    ASSERT_TRUE(module);
    result = evaluateFunction(*module->getOps<mlir::func::FuncOp>().begin(), {}, {}).front();
  }
  EXPECT_EQ(values<double>(result), (std::vector<double>{1, 2}));
}

} // namespace
} // namespace headrace
