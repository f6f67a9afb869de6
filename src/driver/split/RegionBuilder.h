// Makes the region of the nodes that can be computed next: imports as many as possible.
#pragma once

#include "driver/split/OnnxGraph.h"
#include "frontend/onnx/import/RegionImporter.h"

#include "adaptive/Graph.h"
#include <map>
#include <set>

namespace headrace::split {

class RegionBuilder {
public:
  /// `frame` holds what was computed so far. Sizes of inputs and values that nodes need are fixed,
  /// but those that were others when `similar` was made (null: none was) are left open, if the
  /// nodes can do with that; else sizes alone; else multiples of the power of two that divides the
  /// sizes of both times.
  RegionBuilder(const OnnxGraph &source, const adaptive::Graph::Frame &frame,
                const adaptive::Region *similar)
      : source(source), graph(frame.graph), frame(frame), similar(similar) {}

  std::shared_ptr<const adaptive::Region> build();

private:
  enum class Opening { None, Multiples, Sizes, SizesAndValues };
  std::shared_ptr<adaptive::Region> buildOpen(Opening opening);
  std::shared_ptr<adaptive::Region> withFinerSteps(std::shared_ptr<adaptive::Region> open);
  const Shape *sizesBefore(int value) const;
  std::shared_ptr<adaptive::Region> import(Opening opening, const SizeRanges &sizes = {});
  bool moveBesideGuards(SizeRanges &sizes) const;
  bool isReady(size_t node) const;
  void provide(int value);
  void importNode(size_t index);
  void addInput(int value, const Tensor &tensor);
  bool addOpenValue(int value, const Tensor &tensor);
  std::map<size_t, onnx::RegionImporter::Number> openElements(int value, const Tensor &tensor);
  onnx::RegionImporter::Number openNumber(int64_t then, int64_t now);
  void chooseOutputs();

  const OnnxGraph &source;
  const adaptive::Graph &graph;
  const adaptive::Graph::Frame &frame;
  const adaptive::Region *similar;
  /// The divisor of a size that nodes can do with, by the sizes then and now.
  std::map<std::pair<int64_t, int64_t>, int64_t> finestSteps;

  // Of the import that is under way.
  Opening opening = Opening::None;
  onnx::RegionImporter *importer = nullptr;
  std::shared_ptr<adaptive::Region> region;
  Program interface;      // of its program
  std::set<int> computed; // values
  /// A number that was another when the similar region was made.
  struct Changed {
    int64_t then, now;
  };
  std::vector<Changed> numbers; // that values have
  std::vector<Tensor> constants;
};

} // namespace headrace::split
