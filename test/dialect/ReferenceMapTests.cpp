// Reference evaluation of maps: every kind of scalar operation, broadcasting, dynamic dimensions.
#include "ReferenceHarness.h"
#include <cmath>

namespace headrace {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ReferenceMapTest : public ReferenceTest {
protected:
  std::vector<double> floats(const std::string &name, const std::vector<double> &x) {
    return values<double>(map(name + " %x : f64", {"f64"}, "f64",
                              {tensor<double>({static_cast<int64_t>(x.size())}, x)}));
  }
  std::vector<double> floats(const std::string &name, const std::vector<double> &x,
                             const std::vector<double> &y) {
    Shape shape{static_cast<int64_t>(x.size())};
    return values<double>(map(name + " %x, %y : f64", {"f64", "f64"}, "f64",
                              {tensor<double>(shape, x), tensor<double>(shape, y)}));
  }
  std::vector<int8_t> bytes(const std::string &name, const std::vector<int8_t> &x,
                            const std::vector<int8_t> &y) {
    Shape shape{static_cast<int64_t>(x.size())};
    return values<int8_t>(map(name + " %x, %y : i8", {"i8", "i8"}, "i8",
                              {tensor<int8_t>(shape, x), tensor<int8_t>(shape, y)}));
  }
};

TEST_F(ReferenceMapTest, BroadcastsOperandsAsNumPy) {
  Tensor result = operation(
      R"(hr.map(%a, %b, %c) {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %s = arith.addf %x, %y : f32
        %r = arith.mulf %s, %z : f32
        hr.yield %r : f32
      })",
      {"tensor<2x1xf32>", "tensor<3xf32>", "tensor<f32>"}, "tensor<2x3xf32>",
      {tensor<float>({2, 1}, {10, 20}), tensor<float>({3}, {1, 2, 3}), tensor<float>({}, {2})});
  EXPECT_EQ(result.shape(), (Shape{2, 3}));
  EXPECT_EQ(values<float>(result), (std::vector<float>{22, 24, 26, 42, 44, 46}));
}

TEST_F(ReferenceMapTest, EvaluatesMoreElementsThanOneBlock) {
  std::vector<double> x(10'000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<double>(i);
  auto result = floats("arith.negf", x);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(result[i], -x[i]);
}

TEST_F(ReferenceMapTest, EmptyTensorsAndNoInputs) {
  EXPECT_EQ(map("math.exp %x : f32", {"f32"}, "f32", {tensor<float>({0}, {})}).shape(), Shape{0});
  Tensor constant = operation(R"(hr.map() {
      %r = arith.constant 2.5 : f32
      hr.yield %r : f32
    })",
                              {}, "tensor<f32>", {});
  EXPECT_EQ(values<float>(constant), std::vector<float>{2.5});
}

TEST_F(ReferenceMapTest, MathFunctions) {
  struct Case {
    const char *name;
    double (*function)(double);
    double argument;
  };
  Case cases[] = {
      {"math.exp", std::exp, 0.7},      {"math.exp2", std::exp2, 0.7},
      {"math.expm1", std::expm1, 1e-9}, {"math.log", std::log, 0.7},
      {"math.log1p", std::log1p, 1e-9}, {"math.log2", std::log2, 0.7},
      {"math.log10", std::log10, 0.7},  {"math.sqrt", std::sqrt, 0.7},
      {"math.cbrt", std::cbrt, 0.7},    {"math.tanh", std::tanh, 0.7},
      {"math.erf", std::erf, 0.7},      {"math.sin", std::sin, 0.7},
      {"math.cos", std::cos, 0.7},      {"math.tan", std::tan, 0.7},
      {"math.asin", std::asin, 0.7},    {"math.acos", std::acos, 0.7},
      {"math.atan", std::atan, 0.7},    {"math.sinh", std::sinh, 0.7},
      {"math.cosh", std::cosh, 0.7},    {"math.asinh", std::asinh, 0.7},
      {"math.acosh", std::acosh, 1.7},  {"math.atanh", std::atanh, 0.7},
      {"math.absf", std::fabs, -0.7},   {"math.floor", std::floor, -0.7},
      {"math.ceil", std::ceil, -0.7},   {"math.trunc", std::trunc, -1.7},
      {"math.round", std::round, -0.7},
  };
  for (const Case &test : cases)
    EXPECT_EQ(floats(test.name, {test.argument})[0], test.function(test.argument)) << test.name;
  EXPECT_DOUBLE_EQ(floats("math.rsqrt", {4})[0], 0.5);
}

TEST_F(ReferenceMapTest, RoundsHalves) {
  EXPECT_EQ(floats("math.round", {0.5, 1.5, 2.5, -2.5}), (std::vector<double>{1, 2, 3, -3}));
  EXPECT_EQ(floats("math.roundeven", {0.5, 1.5, 2.5, -2.5}), (std::vector<double>{0, 2, 2, -2}));
}

TEST_F(ReferenceMapTest, FloatArithmetic) {
  EXPECT_EQ(floats("arith.addf", {1.5}, {2})[0], 3.5);
  EXPECT_EQ(floats("arith.subf", {1.5}, {2})[0], -0.5);
  EXPECT_EQ(floats("arith.mulf", {1.5}, {2})[0], 3);
  EXPECT_EQ(floats("arith.divf", {1}, {0})[0], kInfinity);
  EXPECT_EQ(floats("arith.remf", {-7.5}, {2})[0], -1.5);
  EXPECT_EQ(floats("math.powf", {2}, {-2})[0], 0.25);
  EXPECT_EQ(floats("math.atan2", {1}, {-1})[0], std::atan2(1.0, -1.0));
  EXPECT_EQ(floats("math.copysign", {3}, {-0.0})[0], -3);
  Tensor x = tensor<double>({1}, {2}), y = tensor<double>({1}, {3}), z = tensor<double>({1}, {4});
  EXPECT_EQ(
      values<double>(map("math.fma %x, %y, %z : f64", {"f64", "f64", "f64"}, "f64", {x, y, z}))[0],
      10);
  EXPECT_EQ(values<double>(map("math.fpowi %x, %y : f64, i32", {"f64", "i32"}, "f64",
                               {x, tensor<int32_t>({1}, {-3})}))[0],
            0.125);
}

TEST_F(ReferenceMapTest, MaximumPropagatesNaNAndOrdersZeros) {
  for (const char *name : {"arith.maximumf", "arith.minimumf"}) {
    auto result = floats(name, {kNaN, 1}, {1, kNaN});
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1])) << name;
  }
  EXPECT_EQ(floats("arith.maxnumf", {kNaN, 3}, {1, 2}), (std::vector<double>{1, 3}));
  EXPECT_EQ(floats("arith.minnumf", {kNaN, 3}, {1, 2}), (std::vector<double>{1, 2}));
  EXPECT_FALSE(std::signbit(floats("arith.maximumf", {-0.0}, {0.0})[0]));
  EXPECT_TRUE(std::signbit(floats("arith.minimumf", {0.0}, {-0.0})[0]));
}

TEST_F(ReferenceMapTest, IntegersWrapAtTheirWidth) {
  EXPECT_EQ(bytes("arith.addi", {100, -100}, {100, -100}), (std::vector<int8_t>{-56, 56}));
  EXPECT_EQ(bytes("arith.subi", {-128}, {1}), std::vector<int8_t>{127});
  EXPECT_EQ(bytes("arith.muli", {16}, {17}), std::vector<int8_t>{16});
  EXPECT_EQ(bytes("math.ipowi", {3, 2, -1, 5}, {5, 7, -3, -1}),
            (std::vector<int8_t>{-13, -128, -1, 0}));
}

TEST_F(ReferenceMapTest, IntegerDivisionNeverTraps) {
  EXPECT_EQ(bytes("arith.divsi", {-7, 5, -128}, {2, 0, -1}), (std::vector<int8_t>{-3, 0, -128}));
  EXPECT_EQ(bytes("arith.remsi", {-7, 5, -128}, {2, 0, -1}), (std::vector<int8_t>{-1, 0, 0}));
  EXPECT_EQ(bytes("arith.floordivsi", {-7, 7, 5}, {2, -2, 0}), (std::vector<int8_t>{-4, -4, 0}));
  EXPECT_EQ(bytes("arith.ceildivsi", {-7, 7, 5}, {2, 2, 0}), (std::vector<int8_t>{-3, 4, 0}));
  EXPECT_EQ(bytes("arith.divui", {-2, 5}, {2, 0}), (std::vector<int8_t>{127, 0}));
  EXPECT_EQ(bytes("arith.remui", {-1, 5}, {16, 0}), (std::vector<int8_t>{15, 0}));
  EXPECT_EQ(bytes("arith.ceildivui", {-1, 5}, {2, 0}), (std::vector<int8_t>{-128, 0}));
  Tensor lowest = tensor<int64_t>({1}, {INT64_MIN}), minusOne = tensor<int64_t>({1}, {-1});
  EXPECT_EQ(values<int64_t>(
                map("arith.divsi %x, %y : i64", {"i64", "i64"}, "i64", {lowest, minusOne}))[0],
            INT64_MIN);
}

TEST_F(ReferenceMapTest, Bits) {
  EXPECT_EQ(bytes("arith.andi", {12}, {10}), std::vector<int8_t>{8});
  EXPECT_EQ(bytes("arith.ori", {12}, {10}), std::vector<int8_t>{14});
  EXPECT_EQ(bytes("arith.xori", {12}, {10}), std::vector<int8_t>{6});
  EXPECT_EQ(bytes("arith.shli", {3, 1, 1}, {2, 7, 9}), (std::vector<int8_t>{12, -128, 0}));
  EXPECT_EQ(bytes("arith.shrsi", {-8, -8}, {1, 100}), (std::vector<int8_t>{-4, -1}));
  EXPECT_EQ(bytes("arith.shrui", {-8, -8}, {1, 100}), (std::vector<int8_t>{124, 0}));
  EXPECT_EQ(bytes("arith.maxsi", {-1}, {1}), std::vector<int8_t>{1});
  EXPECT_EQ(bytes("arith.maxui", {-1}, {1}), std::vector<int8_t>{-1});
  EXPECT_EQ(bytes("arith.minsi", {-1}, {1}), std::vector<int8_t>{-1});
  EXPECT_EQ(bytes("arith.minui", {-1}, {1}), std::vector<int8_t>{1});
  Tensor x = tensor<int8_t>({3}, {-128, 1, 0});
  EXPECT_EQ(values<int8_t>(map("math.absi %x : i8", {"i8"}, "i8", {x})),
            (std::vector<int8_t>{-128, 1, 0}));
  EXPECT_EQ(values<int8_t>(map("math.ctlz %x : i8", {"i8"}, "i8", {x})),
            (std::vector<int8_t>{0, 7, 8}));
  EXPECT_EQ(values<int8_t>(map("math.cttz %x : i8", {"i8"}, "i8", {x})),
            (std::vector<int8_t>{7, 0, 8}));
  EXPECT_EQ(values<int8_t>(map("math.ctpop %x : i8", {"i8"}, "i8", {x})),
            (std::vector<int8_t>{1, 1, 0}));
}

TEST_F(ReferenceMapTest, FloatComparisons) {
  Tensor x = tensor<double>({4}, {1, 2, 3, kNaN}), y = tensor<double>({4}, {2, 2, 2, 2});
  std::pair<const char *, std::vector<bool>> cases[] = {
      {"false", {0, 0, 0, 0}}, {"true", {1, 1, 1, 1}}, {"oeq", {0, 1, 0, 0}},
      {"ogt", {0, 0, 1, 0}},   {"oge", {0, 1, 1, 0}},  {"olt", {1, 0, 0, 0}},
      {"ole", {1, 1, 0, 0}},   {"one", {1, 0, 1, 0}},  {"ord", {1, 1, 1, 0}},
      {"ueq", {0, 1, 0, 1}},   {"ugt", {0, 0, 1, 1}},  {"uge", {0, 1, 1, 1}},
      {"ult", {1, 0, 0, 1}},   {"ule", {1, 1, 0, 1}},  {"une", {1, 0, 1, 1}},
      {"uno", {0, 0, 0, 1}}};
  for (auto &[predicate, expected] : cases)
    EXPECT_EQ(values<bool>(map(std::string("arith.cmpf ") + predicate + ", %x, %y : f64",
                               {"f64", "f64"}, "i1", {x, y})),
              expected)
        << predicate;
}

TEST_F(ReferenceMapTest, IntegerComparisons) {
  Tensor x = tensor<int8_t>({3}, {-1, 2, 3}), y = tensor<int8_t>({3}, {2, 2, 2});
  std::pair<const char *, std::vector<bool>> cases[] = {
      {"eq", {0, 1, 0}},  {"ne", {1, 0, 1}},  {"slt", {1, 0, 0}}, {"sle", {1, 1, 0}},
      {"sgt", {0, 0, 1}}, {"sge", {0, 1, 1}}, {"ult", {0, 0, 0}}, {"ule", {0, 1, 0}},
      {"ugt", {1, 0, 1}}, {"uge", {1, 1, 1}}};
  for (auto &[predicate, expected] : cases)
    EXPECT_EQ(values<bool>(map(std::string("arith.cmpi ") + predicate + ", %x, %y : i8",
                               {"i8", "i8"}, "i1", {x, y})),
              expected)
        << predicate;
}

TEST_F(ReferenceMapTest, Selects) {
  Tensor condition = tensor<bool>({2}, {true, false});
  EXPECT_EQ(
      values<double>(map("arith.select %x, %y, %z : f64", {"i1", "f64", "f64"}, "f64",
                         {condition, tensor<double>({2}, {1, 2}), tensor<double>({2}, {3, 4})})),
      (std::vector<double>{1, 4}));
  EXPECT_EQ(
      values<int8_t>(map("arith.select %x, %y, %z : i8", {"i1", "i8", "i8"}, "i8",
                         {condition, tensor<int8_t>({2}, {1, 2}), tensor<int8_t>({2}, {3, 4})})),
      (std::vector<int8_t>{1, 4}));
}

TEST_F(ReferenceMapTest, ConvertsBetweenIntegers) {
  Tensor x = tensor<int8_t>({2}, {-1, 5});
  EXPECT_EQ(values<int32_t>(map("arith.extsi %x : i8 to i32", {"i8"}, "i32", {x})),
            (std::vector<int32_t>{-1, 5}));
  EXPECT_EQ(values<int32_t>(map("arith.extui %x : i8 to i32", {"i8"}, "i32", {x})),
            (std::vector<int32_t>{255, 5}));
  EXPECT_EQ(values<int8_t>(map("arith.trunci %x : i32 to i8", {"i32"}, "i8",
                               {tensor<int32_t>({2}, {511, -129})})),
            (std::vector<int8_t>{-1, 127}));
  Tensor flags = tensor<bool>({2}, {true, false});
  EXPECT_EQ(values<int8_t>(map("arith.extsi %x : i1 to i8", {"i1"}, "i8", {flags})),
            (std::vector<int8_t>{-1, 0}));
  EXPECT_EQ(values<int8_t>(map("arith.extui %x : i1 to i8", {"i1"}, "i8", {flags})),
            (std::vector<int8_t>{1, 0}));
}

TEST_F(ReferenceMapTest, ConvertsBetweenIntegersAndFloats) {
  Tensor x = tensor<int8_t>({2}, {-1, 5});
  EXPECT_EQ(values<double>(map("arith.sitofp %x : i8 to f64", {"i8"}, "f64", {x})),
            (std::vector<double>{-1, 5}));
  EXPECT_EQ(values<double>(map("arith.uitofp %x : i8 to f64", {"i8"}, "f64", {x})),
            (std::vector<double>{255, 5}));
  EXPECT_EQ(values<double>(map("arith.uitofp %x : i1 to f64", {"i1"}, "f64",
                               {tensor<bool>({2}, {true, false})})),
            (std::vector<double>{1, 0}));
  Tensor f = tensor<double>({5}, {-1.9, 1.9, 300, kNaN, -kInfinity});
  EXPECT_EQ(values<int8_t>(map("arith.fptosi %x : f64 to i8", {"f64"}, "i8", {f})),
            (std::vector<int8_t>{-1, 1, 127, 0, -128}));
  EXPECT_EQ(values<int8_t>(map("arith.fptoui %x : f64 to i8", {"f64"}, "i8", {f})),
            (std::vector<int8_t>{0, 1, -1, 0, 0}));
}

TEST_F(ReferenceMapTest, NarrowFloatsAreNotRoundedInside) {
  Tensor result = operation(R"(hr.map(%a) {
      ^bb0(%x: f64):
        %n = arith.truncf %x : f64 to f16
        %w = arith.extf %n : f16 to f64
        hr.yield %w : f64
      })",
                            {"tensor<1xf64>"}, "tensor<1xf64>", {tensor<double>({1}, {0.1})});
  EXPECT_EQ(values<double>(result)[0], 0.1);
}

TEST_F(ReferenceMapTest, ReadsSymbolicSizes) {
  const char *type = "tensor<?xf32, affine_map<()[s0] -> (s0)>>";
  Tensor result = operation(R"(hr.map(%a) {
      ^bb0(%x: f32):
        %n = hr.size affine_map<()[s0] -> (s0 * 64)>
        %i = arith.index_cast %n : index to i64
        %f = arith.sitofp %i : i64 to f32
        %r = arith.addf %x, %f : f32
        hr.yield %r : f32
      })",
                            {type}, type, {tensor<float>({3}, {1, 2, 3})}, {3});
  EXPECT_EQ(values<float>(result), (std::vector<float>{193, 194, 195}));
}

TEST_F(ReferenceMapTest, UnsignedTensorsPassThrough) {
  Tensor result = operation("hr.map(%a) {\n ^bb0(%x: ui8):\n hr.yield %x : ui8\n}",
                            {"tensor<2xui8>"}, "tensor<2xui8>", {tensor<uint8_t>({2}, {200, 1})});
  EXPECT_EQ(values<uint8_t>(result), (std::vector<uint8_t>{200, 1}));
}

TEST_F(ReferenceMapTest, BitsAreThoseOfTheType) {
  EXPECT_EQ(values<int32_t>(map("arith.bitcast %x : f32 to i32", {"f32"}, "i32",
                                {tensor<float>({2}, {1, -2})})),
            (std::vector<int32_t>{0x3f800000, static_cast<int32_t>(0xc0000000)}));
  EXPECT_EQ(values<uint8_t>(
                operation("hr.map(%a) {\n ^bb0(%x: ui8):\n %i = hr.bits %x : ui8 -> i8\n "
                          "%s = arith.shrui %i, %i : i8\n "
                          "%u = hr.bits %s : i8 -> ui8\n hr.yield %u : ui8\n}",
                          {"tensor<2xui8>"}, "tensor<2xui8>", {tensor<uint8_t>({2}, {200, 2})})),
            (std::vector<uint8_t>{0, 0}));
}

TEST_F(ReferenceMapTest, NamesAnOperationItDoesNotKnow) {
  try {
    operation("hr.map(%a) {\n ^bb0(%x: i32):\n %r:2 = arith.mulsi_extended %x, %x : i32\n "
              "hr.yield %r#0 : i32\n}",
              {"tensor<1xi32>"}, "tensor<1xi32>", {tensor<int32_t>({1}, {1})});
    FAIL() << "expected an internal error";
  } catch (const InternalError &error) {
    EXPECT_NE(std::string(error.what()).find("arith.mulsi_extended"), std::string::npos);
  }
}

} // namespace
} // namespace headrace
