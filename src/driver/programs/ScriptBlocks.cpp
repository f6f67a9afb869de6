#include "driver/programs/ScriptBlocks.h"

#include "driver/Compiler.h"
#include "driver/programs/ScriptTrial.h"

namespace headrace::script {

std::vector<std::shared_ptr<Model>> blocksOf(const std::filesystem::path &path,
                                             const TrialInputs &inputs) {
  Settings settings;
  TriedScript tried =
      tryScript(path, {inputs.arguments, inputs.variables, inputs.outputs, inputs.scriptPath},
                makeContext(findTarget(settings.target)));
  std::vector<std::shared_ptr<Model>> blocks;
  for (TriedScript::Segment &segment : tried.segments)
    blocks.push_back(std::make_shared<Model>(std::move(segment.program), settings));
  if (blocks.empty())
    throw Error(ErrorKind::InvalidArgument,
                path.filename().string() + ": expected a script with parts to compile, found none");
  return blocks;
}

} // namespace headrace::script
