#include "driver/programs/SegmentCompiler.h"

#include "driver/Contexts.h"
#include "driver/Model.h"
#include "driver/programs/LevelOneProgram.h"
#include "frontend/script/SegmentImporter.h"

namespace headrace::script {

namespace {

class CompiledSegment : public SegmentCode {
public:
  CompiledSegment(LevelOneProgram program, const Settings &settings)
      : model(std::move(program), settings) {}

  const std::vector<TensorSpec> &inputs() const override { return model.inputs(); }
  std::shared_ptr<const Executable> executable(std::span<const Tensor> inputs) override {
    return model.compile(inputs);
  }
  Explanation explain() override { return model.explain(); }

private:
  Model model;
};

class SegmentCompiler : public SegmentSource {
public:
  explicit SegmentCompiler(const Settings &settings) : settings(settings) {}

  std::shared_ptr<SegmentCode> find(const Dag &dag, const Segment &segment) override {
    if (!context)
      context = contextFor(findTarget(settings.target));
    std::string name = segmentName(dag, segment);
    LevelOneProgram program{name, context, importSegment(dag, segment, *context, name)};
    return std::make_shared<CompiledSegment>(std::move(program), settings);
  }

private:
  Settings settings;
  std::shared_ptr<mlir::MLIRContext> context;
};

} // namespace

std::shared_ptr<SegmentSource> makeSegmentCompiler(const Settings &settings) {
  return std::make_shared<SegmentCompiler>(settings);
}

} // namespace headrace::script
