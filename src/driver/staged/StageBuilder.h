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
  /// when `similar` was made (null: none was) are left open, if the nodes can do with that.
  StageBuilder(const GraphPlan &plan, const GraphPlan::Frame &frame, const Stage *similar)
      : plan(plan), frame(frame), similar(similar) {}

  std::shared_ptr<const Stage> build();

private:
  std::shared_ptr<Stage> import(const Stage *sizesFrom);
  bool isReady(const PlannedNode &node) const;
  void provide(int value);
  void importNode(size_t index);
  std::vector<onnx::Dim> dimsOf(int value, const Tensor &tensor, std::vector<bool> &isOpen) const;
  void chooseOutputs();

  const GraphPlan &plan;
  const GraphPlan::Frame &frame;
  const Stage *similar;

  // Of the import that is under way.
  const Stage *sizesFrom = nullptr;
  onnx::StageImporter *importer = nullptr;
  std::shared_ptr<Stage> stage;
  std::set<int> computed; // values
  std::vector<Tensor> constants;
};

} // namespace headrace::staged
