// Programs that are built operator by operator.
#pragma once

#include "driver/Model.h"
#include "frontend/graph/GraphBuilder.h"

namespace headrace {

std::unique_ptr<graph::GraphBuilder> makeGraphBuilder(const std::string &name,
                                                      const Settings &settings);
/// The program that was built; the builder is empty afterwards.
std::shared_ptr<Model> makeModel(graph::GraphBuilder &builder, const Settings &settings);

} // namespace headrace
