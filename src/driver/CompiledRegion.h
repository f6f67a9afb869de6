// Regions of split models and segments of scripts as models: compiled as they are needed, with
// versions for their sizes.
#pragma once

#include "driver/LevelOneProgram.h"
#include "driver/Model.h"

#include "adaptive/Region.h"

namespace headrace {

class CompiledRegion : public adaptive::RegionCode {
public:
  CompiledRegion(LevelOneProgram program, const Settings &settings);

  const std::vector<TensorSpec> &inputs() const override { return model.inputs(); }
  bool accepts(std::span<const Tensor> inputs) const override;
  std::shared_ptr<const Executable> executable(std::span<const Tensor> inputs) override {
    return model.compile(inputs);
  }
  std::vector<Tensor> run(std::span<const Tensor> inputs) override { return model.run(inputs); }
  void addCall(std::span<const Tensor> inputs, double microseconds) override {
    model.addCall(inputs, microseconds);
  }
  Explanation explain() override { return model.explain(); }

  const std::string part; // the program's
  Model model;
};

/// The code of a region that the compiler made, and its model.
CompiledRegion &codeOf(const adaptive::Region &region);
Model &modelOf(const adaptive::Region &region);

} // namespace headrace
