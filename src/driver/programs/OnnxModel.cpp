#include "driver/programs/OnnxModel.h"

#include "driver/programs/ModelFile.h"
#include "driver/split/SplitProgram.h"
#include "frontend/onnx/read/OnnxModel.h"

namespace headrace {

std::shared_ptr<Model> modelOf(onnx::Model file, const std::string &name,
                               const Settings &settings) {
  checkSettings(settings);
  ModelFile found = programOf(std::move(file), name, settings);
  if (found.splitProgram)
    return std::make_shared<Model>(std::move(found.splitProgram));
  return std::make_shared<Model>(std::move(*found.program), settings);
}

} // namespace headrace
