// Models that are not read from a file but made, or changed after they were read.
#pragma once

#include "driver/Model.h"

namespace headrace {

namespace onnx {
struct Model;
}

/// The model as Model::load gives it, under a name for messages. Throws Error.
std::shared_ptr<Model> modelOf(onnx::Model file, const std::string &name,
                               const Settings &settings = {});

} // namespace headrace
