#include "driver/script/SegmentCompiler.h"

#include "driver/Compiler.h"
#include "driver/LevelOneProgram.h"
#include "frontend/script/import/SegmentImporter.h"

namespace headrace::script {

struct SegmentCompiler::Impl {
  Settings settings;
  std::shared_ptr<mlir::MLIRContext> context;
};

SegmentCompiler::SegmentCompiler(const Settings &settings)
    : impl(std::make_unique<Impl>(Impl{settings, nullptr})) {}

SegmentCompiler::~SegmentCompiler() = default;

std::shared_ptr<Model> SegmentCompiler::makeModel(const Dag &dag, const Segment &segment,
                                                  const std::string &name) {
  if (!impl->context)
    impl->context = makeContext(findTarget(impl->settings.target));
  LevelOneProgram program{name, impl->context, importSegment(dag, segment, *impl->context, name)};
  return std::make_shared<Model>(std::move(program), impl->settings);
}

} // namespace headrace::script
