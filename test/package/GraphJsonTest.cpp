// Graphs that run in parts, written as JSON and read back.
#include "package/GraphJson.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using adaptive::Graph, adaptive::GraphNode, adaptive::NodeSet, adaptive::Region;

Tensor integers(std::vector<int64_t> values) {
  Tensor tensor = Tensor::allocate(DType::I64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<int64_t>());
  return tensor;
}

/// y = Slice(x, starts, ends) on the host; starts is a constant.
std::shared_ptr<Graph> sliceGraph() {
  auto graph = std::make_shared<Graph>("model", 16);
  graph->name = "main";
  graph->names = {"x", "starts", "ends", "y"};
  graph->constants.resize(4);
  graph->constants[1] = integers({1});
  graph->inputs = {0, 2};
  graph->outputs = {3};
  operators::HostNode host{"cut", "Slice", "", 13, {"x", "starts", "ends"}, {"y"}, {}, {}};
  host.attributes.push_back({"infinite", -INFINITY});
  host.attributes.push_back({"words", std::vector<std::string>{"a", ""}});
  GraphNode node{host, {0, 1, 2}, {0, 1, 2}, {3}};
  node.isHostAlways = true;
  node.host = operators::findHostOperator("", "Slice", 13)->function;
  node.prepared = std::make_shared<operators::Prepared>();
  graph->nodes.push_back(std::move(node));
  graph->dropUnneeded();
  return graph;
}

/// The tensors of a package, by number.
struct Tensors {
  std::vector<Tensor> all;
  KeepTensor keep = [this](const Tensor &tensor) {
    all.push_back(tensor);
    return all.size() - 1;
  };
  FindTensor find = [this](size_t index, DType, const Shape &) { return all.at(index); };
};

std::vector<int64_t> resultOf(Graph &graph) {
  adaptive::Executor executor;
  adaptive::GraphCall call{executor, 100};
  std::vector<RuntimeValue> given{integers({4, 5, 6, 7}), integers({3})};
  const Tensor result = *graph.run(given, nullptr, call).front().tensor();
  return {result.as<int64_t>(), result.as<int64_t>() + result.elements()};
}

TEST(GraphJson, AGraphComputesTheSameAfterwards) {
  std::shared_ptr<Graph> graph = sliceGraph();
  ASSERT_EQ(resultOf(*graph), (std::vector<int64_t>{5, 6}));
  Tensors tensors;
  Json json = Json::parse(graphsToJson(graphsWithin(graph), tensors.keep).dump());
  GraphList read = graphsFromJson(json, "model", tensors.find);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(resultOf(*read.front()), (std::vector<int64_t>{5, 6}));
  const operators::HostNode &node = read.front()->nodes.front().node;
  EXPECT_EQ(node.getFloat("infinite", 0), -INFINITY);
  EXPECT_EQ(node.getStrings("words"), (std::vector<std::string>{"a", ""}));
}

TEST(GraphJson, NumbersOutOfRangeAreRefused) {
  Tensors tensors;
  const Json good = graphsToJson(graphsWithin(sliceGraph()), tensors.keep);
  auto faultOf = [&](auto change) {
    Json json = good;
    change(json[0]);
    try {
      graphsFromJson(json, "model", tensors.find);
    } catch (const JsonFault &fault) {
      return std::string(fault.what());
    }
    return std::string();
  };
  EXPECT_EQ(faultOf([](Json &) {}), "");
  EXPECT_NE(faultOf([](Json &json) { json["outputs"][0] = 4; }), "");
  EXPECT_NE(faultOf([](Json &json) { json["inputs"][0] = -1; }), "");
  EXPECT_NE(faultOf([](Json &json) { json["nodes"][0]["reads"][0] = 17; }), "");
  EXPECT_NE(faultOf([](Json &json) { json["nodes"][0]["inputs"].push_back(0); }), "");
  EXPECT_NE(faultOf([](Json &json) { json["constants"][0]["value"] = 9; }), "");
  EXPECT_NE(faultOf([](Json &json) { json["captures"].push_back({0, 0}); }), "");
  EXPECT_NE(faultOf([](Json &json) { json["outputs"][0] = 0; }), "") << "nobody reads the node";
  EXPECT_NE(faultOf([](Json &json) { json["nodes"][0]["operator"] = "Slyce"; }), "");
  EXPECT_NE(faultOf([](Json &json) {
              json["nodes"][0]["bodies"].push_back(
                  {{"attribute", "body"}, {"graph", 0}, {"outputs", Json::array()}});
            }),
            "")
      << "a graph inside of itself";
}

TEST(GraphJson, ARegionKeepsWhatItHoldsFor) {
  std::shared_ptr<Graph> graph = sliceGraph();
  Region region;
  region.nodes = {0};
  region.inputs = {0, Region::encodeShapeInput(0)};
  region.outputs = {3};
  region.needed = {{2, integers({3}), {0}}};
  region.sizes = {{4}, {0, 3}};
  region.steps = {{1}, {1, 1}};
  Tensors tensors;
  Json json = regionToJson(region, NodeSet(1), tensors.keep);
  NodeSet done;
  Region read = regionFromJson(json, *graph, done, tensors.find);
  EXPECT_EQ(done, NodeSet(1));
  EXPECT_EQ(read.inputs, region.inputs);
  EXPECT_EQ(read.steps, region.steps);
  ASSERT_EQ(read.needed.size(), 1u);
  EXPECT_TRUE(read.needed[0].serves(integers({9}))) << "dynamic";
  EXPECT_FALSE(read.needed[0].serves(integers({0})));
  auto refuses = [&](auto change) {
    Json other = json;
    change(other);
    EXPECT_THROW(regionFromJson(other, *graph, done, tensors.find), JsonFault);
  };
  refuses([](Json &other) { other["nodes"] = {1}; });
  refuses([](Json &other) { other["nodes"] = Json::array(); });
  refuses([](Json &other) { other["after"] = {0}; });
  refuses([](Json &other) { other["inputs"][1] = -2; });
  refuses([](Json &other) { other["steps"][0] = {1, 1}; });
  refuses([](Json &other) { other["needed"][0]["open"] = {1}; });
}

} // namespace
} // namespace headrace
