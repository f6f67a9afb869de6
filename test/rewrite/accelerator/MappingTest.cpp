#include "rewrite/accelerator/Mapping.h"

#include "rewrite/Fixture.h"
#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/rules/ShippedRules.h"

#include <cmath>
#include <cstdlib>

namespace headrace::rewrite {

class MappingTest : public RewriteTest {
protected:
  Accelerator machineNamed(const std::string &name) {
    return Accelerator::read(std::string(HEADRACE_EXAMPLES) + "/accelerators/" + name + ".json");
  }

  // A vector machine with one matrix of r x c, and vectors of both widths.
  Accelerator vectorMachine(int64_t r, int64_t c,
                            std::vector<std::string> vectors = {"VVAdd", "VVMul", "VVMax",
                                                                "VVRelu"}) {
    Accelerator machine;
    machine.chipBytes = 1 << 22;
    machine.loadCost = machine.storeCost = machine.outputCost = 0.0625;
    machine.operators.push_back({"MVMul", {r, c}, 32});
    for (const std::string &name : vectors) {
      machine.operators.push_back({name, {r}, 1});
      if (c != r)
        machine.operators.push_back({name, {c}, 1});
    }
    return machine;
  }

  Mapping map(const std::string &contents, const Accelerator &machine) {
    start = term(contents);
    return mapToMachine(terms, start, machine, shippedRules(vocabulary),
                        {limits, {.exactSteps = 2'000}});
  }

  Inputs randomInputs() {
    std::mt19937 random(3);
    Inputs inputs;
    for (TermId id : terms.reachableFrom(start)) {
      OperatorCall call = callOf(terms.opOf(id), vocabulary);
      if (vocabulary.text(terms.opOf(id).name) != "tensor")
        continue;
      Array array(call.numbers);
      for (double &value : array.values)
        value = static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 1000;
      inputs.emplace(call.names[0], std::move(array));
    }
    return inputs;
  }

  // The largest difference between what the machine computes and the term it was made from.
  double errorOn(const Accelerator &machine, const Mapping &mapping) {
    Inputs inputs = randomInputs();
    Array expected = evaluate(terms, start, allOperators(), inputs);
    Array got = runOnMachine(terms, mapping.term, machine, inputs);
    EXPECT_EQ(got.shape, expected.shape);
    double worst = 0;
    for (size_t i = 0; i < expected.values.size(); ++i)
      worst = std::max(worst, std::abs(expected.values[i] - got.values[i]));
    return worst;
  }

  SaturationLimits limits{.nodes = 15'000, .seconds = 600};
  TermId start = 0;
};

namespace {

const char *const fc1 = "map[relu](dense(tensor[w, 120, 256], tensor[x, 256], tensor[b, 120]))";
const char *const conv1 =
    "map[relu](zip[add](conv[1, 1](tensor[x, 1, 28, 28], tensor[w, 6, 1, 5, 5]), "
    "repeat[1, 24](repeat[1, 24](tensor[b, 6]))))";

} // namespace

TEST_F(MappingTest, AFullyConnectedLayerTakesEightProductsOfWidth64) {
  Accelerator machine = machineNamed("vector-64");
  Mapping mapping = map(fc1, machine);
  EXPECT_TRUE(mapping.leftOver.empty());
  EXPECT_LE(mapping.operations["MVMul[64, 64]"], 8);
  EXPECT_LE(mapping.operations["VVAdd[64]"], 8);
  EXPECT_LE(mapping.operations["VVRelu[64]"], 2);
  EXPECT_EQ(mapping.operations.size(), 3u);
  EXPECT_EQ(mapping.usefulProducts, 120 * 256);
  EXPECT_LT(errorOn(machine, mapping), 0.02);
}

TEST_F(MappingTest, AFullyConnectedLayerTakesTwoProductsOfWidth128) {
  Accelerator machine = machineNamed("vector-128");
  Mapping mapping = map(fc1, machine);
  EXPECT_TRUE(mapping.leftOver.empty());
  EXPECT_LE(mapping.operations["MVMul[128, 128]"], 2);
  EXPECT_LE(mapping.operations["VVAdd[128]"], 2);
  EXPECT_LE(mapping.operations["VVRelu[128]"], 1);
  EXPECT_LT(errorOn(machine, mapping), 0.02);
}

TEST_F(MappingTest, AConvolutionWithFewFiltersTakesPatchesAsTheMatrix) {
  Accelerator machine = machineNamed("vector-64");
  Mapping mapping = map(conv1, machine);
  EXPECT_TRUE(mapping.leftOver.empty());
  EXPECT_EQ(mapping.operations["MVMul[64, 64]"], 54) << printLines(terms, mapping.term);
  EXPECT_LE(mapping.operations["VVAdd[64]"], 54);
  EXPECT_LE(mapping.operations["VVRelu[64]"], 54);
  EXPECT_NEAR(100.0 * mapping.usefulProducts / mapping.doneProducts, 39.06, 0.01);
  EXPECT_LT(errorOn(machine, mapping), 0.02);
}

TEST_F(MappingTest, MatrixMachinesTakeTheSameTerms) {
  Accelerator machine = machineNamed("matrix-16");
  for (const char *layer : {fc1, conv1}) {
    Mapping mapping = map(layer, machine);
    EXPECT_TRUE(mapping.leftOver.empty());
    EXPECT_GT(mapping.operations["MMMul[16, 16, 16]"], 0);
    EXPECT_LT(errorOn(machine, mapping), 1e-4);
  }
}

TEST_F(MappingTest, WidthsThatDivideNothingAndMatricesThatAreNotSquareMapToo) {
  for (auto [r, c] : {std::pair(32, 32), std::pair(96, 96), std::pair(48, 80)}) {
    Accelerator machine = vectorMachine(r, c);
    Mapping mapping =
        map("map[relu](dense(tensor[w, 10, 100], tensor[x, 100], tensor[b, 10]))", machine);
    EXPECT_TRUE(mapping.leftOver.empty()) << r << " x " << c;
    EXPECT_LT(errorOn(machine, mapping), 1e-4);
  }
}

TEST_F(MappingTest, AWholeNetworkMapsToEveryMachineFromOneTerm) {
  if (!std::getenv("HEADRACE_LARGE_TESTS"))
    GTEST_SKIP() << "takes longer: set HEADRACE_LARGE_TESTS=1";
  auto network = Source::read(std::string(HEADRACE_EXAMPLES) + "/accelerators/lenet.term");
  limits.nodes = 100'000;
  std::vector<Accelerator> machines = {machineNamed("vector-64"), machineNamed("vector-128"),
                                       machineNamed("matrix-16"), vectorMachine(32, 32),
                                       vectorMachine(96, 96),     vectorMachine(48, 80)};
  for (Accelerator &machine : machines) {
    machine.element.kind = NumberFormat::Kind::Float32;
    Mapping mapping = map(std::string(network->text()), machine);
    EXPECT_TRUE(mapping.leftOver.empty());
    Inputs inputs = randomInputs();
    double scale = 0;
    for (double value : evaluate(terms, start, allOperators(), inputs).values)
      scale = std::max(scale, std::abs(value));
    EXPECT_LT(errorOn(machine, mapping), 1e-5 * scale);
  }
}

TEST_F(MappingTest, WhatTheMachineCannotDoIsNamed) {
  Mapping mapping = map(fc1, vectorMachine(64, 64, {"VVAdd"}));
  ASSERT_EQ(mapping.leftOver.size(), 1u);
  EXPECT_EQ(mapping.leftOver[0].substr(0, 13), "map[relu] of ");
}

TEST_F(MappingTest, AMachineWithoutMatricesComputesAStencil) {
  Accelerator machine = vectorMachine(16, 16);
  machine.operators.erase(machine.operators.begin());
  Mapping mapping = map("conv[1, 1](tensor[x, 1, 10, 10], tensor[w, 2, 1, 3, 3])", machine);
  EXPECT_TRUE(mapping.leftOver.empty());
  EXPECT_EQ(mapping.operations["VVMul[16]"], 2 * 9 * 4); // filters, elements of each, vectors of 64
  EXPECT_EQ(mapping.operations["VVAdd[16]"], 2 * 8 * 4) << printLines(terms, mapping.term);
  EXPECT_LT(errorOn(machine, mapping), 1e-4);
}

TEST_F(MappingTest, ResultsOfOneLayerStayOnTheChipForTheNext) {
  const char *twoLayers = "map[relu](dense(tensor[v, 64, 64], map[relu](dense(tensor[w, 64, 64], "
                          "tensor[x, 64], tensor[b, 64])), tensor[c, 64]))";
  Accelerator machine = vectorMachine(64, 64);
  Mapping mapping = map(twoLayers, machine);
  EXPECT_EQ(mapping.storedBytes, 0);
  EXPECT_EQ(mapping.outputBytes, 64 * 4);
  EXPECT_EQ(mapping.loadedBytes, (2 * 64 * 64 + 3 * 64) * 4);
  // A chip that holds nothing beyond one operation sends everything through DRAM.
  machine.chipBytes = 64;
  Mapping small = map(twoLayers, machine);
  EXPECT_GT(small.storedBytes, 0);
  EXPECT_GT(small.cost, mapping.cost);
  EXPECT_EQ(small.operations, mapping.operations);
}

TEST_F(MappingTest, FewNodesEndCleanlyWithNothingBetter) {
  Accelerator machine = machineNamed("vector-64");
  double full = map(fc1, machine).cost;
  for (size_t nodes : {10, 50, 200}) {
    limits.nodes = nodes;
    Mapping mapping = map(fc1, machine);
    EXPECT_EQ(mapping.saturation.reason, StopReason::Nodes);
    // What is left over has no cost on the machine.
    EXPECT_TRUE(mapping.cost >= full || !mapping.leftOver.empty());
    EXPECT_GE(mapping.cost, 0);
    EXPECT_LE(mapping.minCost, mapping.cost);
  }
}

TEST_F(MappingTest, ATermThatIsNoneIsRefused) {
  EXPECT_EQ(errorOf([&] {
              map("dense(tensor[w, 2, 3], tensor[x, 4], tensor[b, 2])", vectorMachine(4, 4));
            }),
            "dense: operands of shapes [2, 3], [4] and [2]");
}

} // namespace headrace::rewrite
