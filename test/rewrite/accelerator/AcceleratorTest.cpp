#include "rewrite/accelerator/Accelerator.h"

#include "rewrite/Fixture.h"
#include "rewrite/rules/ShippedRules.h"

#include <cmath>
#include <limits>

namespace headrace::rewrite {

namespace {

const std::string head = R"({"name": "m", "element": "float16", "saturates": false,
  "accumulate": "float32", "chip_bytes": 1024,
  "cost_per_byte": {"load": 1, "store": 1, "output": 1}, "operators": [)";

std::string errorIn(const std::string &json) {
  return errorOf([&] { Accelerator::parse(json, "m.json"); });
}

} // namespace

TEST(AcceleratorTest, FilesAreRead) {
  Accelerator machine =
      Accelerator::parse(head + R"({"name": "MVMul", "sizes": [48, 80], "cost": 2.5}]})", "m.json");
  ASSERT_EQ(machine.operators.size(), 1u);
  EXPECT_EQ(machine.find("MVMul", std::vector<int64_t>{48, 80})->cost, 2.5);
  EXPECT_EQ(machine.find("MVMul", std::vector<int64_t>{80, 48}), nullptr);
  EXPECT_EQ(machine.element.bytes(), 2);
}

TEST(AcceleratorTest, WhatAMachineCannotBeIsNamed) {
  EXPECT_EQ(errorIn("no"), "m.json: the file is not JSON");
  EXPECT_EQ(errorIn("[]"), "m.json: expected an object, got array");
  EXPECT_EQ(errorIn("{}"), "m.json: expected 'name'");
  EXPECT_EQ(errorIn(head + R"({"name": "VVSin", "sizes": [4], "cost": 1}]})"),
            "m.json: operator 1: name: expected VVAdd, VVSub, VVMul, VVMax, VVRelu, VVTanh, VVExp, "
            "MVMul, MVAdd, MMMul, MMAdd, ScalarAdd or ScalarMul, whose meanings are known, got "
            "'VVSin'");
  EXPECT_EQ(errorIn(head + R"({"name": "toChip", "sizes": [], "cost": 1}]})"),
            "m.json: operator 1: name: expected VVAdd, VVSub, VVMul, VVMax, VVRelu, VVTanh, VVExp, "
            "MVMul, MVAdd, MMMul, MMAdd, ScalarAdd or ScalarMul, whose meanings are known, got "
            "'toChip'");
  EXPECT_EQ(errorIn(head + R"({"name": "MVMul", "sizes": [4], "cost": 1}]})"),
            "m.json: operator 1: sizes: expected 2, got 1");
  EXPECT_EQ(errorIn(head + R"({"name": "VVAdd", "sizes": [0], "cost": 1}]})"),
            "m.json: operator 1: expected a number from 1 to 65536, got 0");
  EXPECT_EQ(errorIn(head + R"({"name": "VVAdd", "sizes": [4], "cost": -1}]})"),
            "m.json: operator 1: cost: expected a cost of at least 0, got -1");
  EXPECT_EQ(errorIn(head + R"({"name": "VVAdd", "sizes": [4], "cost": 1, "speed": 2}]})"),
            "m.json: operator 1: there is no key 'speed'");
  EXPECT_EQ(errorIn(head + R"({"name": "VVAdd", "sizes": [4], "cost": 1},
                               {"name": "VVAdd", "sizes": [4], "cost": 2}]})"),
            "m.json: operator 2: VVAdd of these sizes exists already");
  std::string other = head;
  other.replace(other.find("float16"), 7, "float12");
  EXPECT_EQ(errorIn(other + "]}"),
            "m.json: element: expected float32, float16, float8_e4m3fn or int32, got 'float12'");
}

TEST(AcceleratorTest, RulesComeOncePerSize) {
  Vocabulary vocabulary;
  RuleSet rules;
  parseRules(rules,
             text("level hardware rule a for VVAdd[?n] f[?n](?x) => ?x "
                  "rule b for Vector[?n] g[?n](?x) => ?x rule c h(?x) => ?x rule d for VVMul[?n] "
                  "i(?x) => ?x"),
             vocabulary, nullptr);
  Accelerator machine = Accelerator::parse(
      head +
          R"({"name": "VVAdd", "sizes": [64], "cost": 1}, {"name": "VVAdd", "sizes": [32], "cost": 1},
                {"name": "VVRelu", "sizes": [64], "cost": 1}]})",
      "m.json");
  std::string names;
  for (const RuleInstance &instance : machine.instancesOf(rules, vocabulary))
    names += instance.name(vocabulary) + " ";
  EXPECT_EQ(names, "a[32] a[64] b[32] b[64] c ");
}

TEST(NumberFormatTest, InfinityIsTheLargestNumberWhereThereIsNone) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Float8, false}.bounded(-infinity)), -448);
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Int32, false}.bounded(-infinity)), -0x1p31);
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Float16, false}.bounded(infinity)), infinity);
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Float8, false}.bounded(0.3)), 0.3);
}

TEST(NumberFormatTest, Float8RoundsToNearestEvenUpTo448) {
  NumberFormat format{NumberFormat::Kind::Float8, false},
      saturating{NumberFormat::Kind::Float8, true};
  EXPECT_EQ(format.round(1.0625), 1);    // halfway to 1.125: even
  EXPECT_EQ(format.round(1.1875), 1.25); // halfway to 1.25
  EXPECT_EQ(format.round(-0.3), -0.3125);
  EXPECT_EQ(format.round(0x1p-10), 0); // half of the least
  EXPECT_EQ(format.round(0x1.8p-10), 0x1p-9);
  EXPECT_EQ(format.round(464), 448);
  EXPECT_TRUE(std::isnan(format.round(465)));
  EXPECT_TRUE(std::isnan(format.round(INFINITY)));
  EXPECT_EQ(saturating.round(465), 448);
  EXPECT_EQ(saturating.round(-INFINITY), -448);
  EXPECT_TRUE(std::isnan(saturating.round(NAN)));
}

TEST(NumberFormatTest, OtherFormatsRoundAsTheMachineDoes) {
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Float16, false}.round(2049)), 2048);
  EXPECT_TRUE(std::isinf(NumberFormat{NumberFormat::Kind::Float16, false}.round(1e6)));
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Float16, true}.round(1e6)), 65504);
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Float32, false}.round(16777217)), 16777216);
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Int32, false}.round(2.5)), 2);
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Int32, false}.round(0x1p31)), -0x1p31);
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Int32, true}.round(1e20)), 2147483647);
  EXPECT_EQ((NumberFormat{NumberFormat::Kind::Int32, true}.round(NAN)), 0);
}

} // namespace headrace::rewrite
