// Makes the program of the nodes that can be computed next.
#pragma once

#include "driver/staged/GraphPlan.h"

#include <set>

namespace headrace::onnx {
class StageImporter;
}

namespace headrace::staged {

class StageBuilder {
public:
  /// `frame` holds what was computed so far. Sizes of inputs are fixed, but those that were others
  /// when `similar` was made (null: none was) are left open, if the nodes can do with that; else
  /// multiples of the power of two that divides the sizes of both times.
  StageBuilder(const GraphPlan &plan, const GraphPlan::Frame &frame, const Stage *similar)
      : plan(plan), frame(frame), similar(similar) {}

  std::shared_ptr<const Stage> build();

private:
  enum class Opening { None, Multiples, Any };
  std::shared_ptr<Stage> buildOpen(Opening opening);
  std::shared_ptr<Stage> import(Opening opening);
  bool isReady(const PlannedNode &node) const;
  void provide(int value);
  void importNode(size_t index);
  void addInput(int value, const Tensor &tensor);
  void chooseOutputs();

  const GraphPlan &plan;
  const GraphPlan::Frame &frame;
  const Stage *similar;

  // Of the import that is under way.
  Opening opening = Opening::None;
  onnx::StageImporter *importer = nullptr;
  std::shared_ptr<Stage> stage;
  std::set<int> computed; // values
  std::vector<Tensor> constants;
};

} // namespace headrace::staged
