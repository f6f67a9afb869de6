#include "driver/programs/ModelFile.h"

#include "driver/Compiler.h"
#include "driver/staged/StagedProgram.h"
#include "frontend/onnx/import/Importer.h"
#include "frontend/onnx/read/OnnxReader.h"
#include "runtime/system/ForkSafety.h"

namespace headrace {

ModelFile loadFile(const std::filesystem::path &path, const Settings &settings) {
  checkSettings(settings);
  return programOf(onnx::readModel(path), path.filename().string(), settings);
}

ModelFile programOf(onnx::Model file, const std::string &name, const Settings &settings) {
  std::string reason;
  auto read = std::make_shared<onnx::Model>(std::move(file));
  if (!staged::StagedProgram::isNeededFor(*read))
    try {
      return {importModel(read, name, settings), nullptr, read->metadata};
    } catch (const onnx::DataDependentError &error) {
      reason = error.what(); // its values or sizes come with the data: in stages, then
    }
  std::map<std::string, std::string> metadata = read->metadata;
  return {std::nullopt,
          std::make_shared<staged::StagedProgram>(name, std::move(*read), settings, reason),
          std::move(metadata)};
}

LevelOneProgram importFile(const std::filesystem::path &path, const Settings &settings) {
  ModelFile file = loadFile(path, settings);
  if (file.staged)
    throw Error(
        ErrorKind::Unsupported,
        path.filename().string() +
            ": expected a model that is one program, found one that runs in stages, because "
            "its shapes, control flow or values depend on data");
  return std::move(*file.program);
}

} // namespace headrace
