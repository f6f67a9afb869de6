#include "driver/programs/ScriptBlocks.h"

#include "driver/Contexts.h"
#include "driver/LevelOneProgram.h"
#include "frontend/script/SegmentImporter.h"

#include "script/ScriptSession.h"
#include <map>

namespace headrace::script {

namespace {

/// Keeps the segments that code is asked for, and has none.
class BlockRecorder : public SegmentSource {
public:
  std::shared_ptr<adaptive::RegionCode> find(const Dag &dag, const Segment &segment) override {
    if (!known.try_emplace(segmentKey(dag, segment), blocks.size()).second)
      return nullptr;
    std::string name = segmentName(dag, segment);
    LevelOneProgram program{name, context, importSegment(dag, segment, *context, name)};
    ScriptBlock block{std::make_shared<Model>(std::move(program), settings), {}, 0};
    // Symbols are called after their numbers in the graph: "s3".
    for (const std::string &symbol : block.model->symbols()) {
      size_t number = 0;
      bool isNumbered = !llvm::StringRef(symbol).drop_front().getAsInteger(10, number);
      block.sizes.push_back(isNumbered && number < segment.expectedSizes.size()
                                ? std::optional(segment.expectedSizes[number])
                                : std::nullopt);
    }
    blocks.push_back(std::move(block));
    return nullptr;
  }

  void noteHostRun(const Dag &dag, const Segment &segment) override {
    ++blocks[known.at(segmentKey(dag, segment))].runs;
  }

  std::vector<ScriptBlock> blocks;

private:
  Settings settings;
  std::shared_ptr<mlir::MLIRContext> context = contextFor(findTarget(settings.target));
  std::map<std::string, size_t> known; // the numbers of blocks
};

} // namespace

std::vector<ScriptBlock> blocksOf(const std::filesystem::path &path, const RunInputs &inputs) {
  auto recorder = std::make_shared<BlockRecorder>();
  ScriptOptions options;
  options.settings.code = recorder;
  options.settings.compile = CompileWhen::Always;
  options.scriptPath = inputs.scriptPath;
  options.print = [](const std::string &) {};
  options.isTrial = true;
  ScriptSession::load(path, std::move(options))->run(inputs.variables, inputs.arguments);
  if (recorder->blocks.empty())
    throw Error(ErrorKind::InvalidArgument,
                path.filename().string() + ": expected a script with parts to compile, got none");
  return std::move(recorder->blocks);
}

} // namespace headrace::script
