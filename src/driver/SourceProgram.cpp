#include "driver/SourceProgram.h"

#include "driver/Compiler.h"
#include "driver/ProgramBuilder.h"
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/OnnxReader.h"
#include "runtime/Error.h"

using namespace mlir;

namespace headrace {

SourceProgram importFile(const std::filesystem::path &path, const Settings &settings) {
  const std::string &expansion = settings.expansion;
  if (expansion != "auto" && expansion != "generated" && expansion != "openblas")
    throw Error(ErrorKind::InvalidArgument,
                "unknown expansion '" + expansion + "'; expected auto, generated or openblas");
  SourceProgram program;
  program.name = path.filename().string();
  onnx::Model file = onnx::readModel(path);
  program.context = makeContext(findTarget(settings.target));
  program.module = onnx::importModel(file, *program.context, program.name);
  func::FuncOp main = entryFunction(*program.module);
  program.interface.name = program.name;
  program.interface.inputs = inputSpecs(main);
  program.interface.outputs = outputSpecs(main);
  program.interface.symbols = symbolGuards(main, /*least=*/0);
  return program;
}

} // namespace headrace
