// Models out of packages: compiled already, as one program or as several.
#pragma once

#include "driver/models/ModelImpl.h"

namespace headrace {

/// The program `settings.program` of an open package, which is named `name` in messages. Throws
/// Error if there is none, or the settings ask for something that is decided already.
std::unique_ptr<Model::Impl> packagedModel(const Package &package, const std::string &name,
                                           const Settings &settings);

} // namespace headrace
