#include "driver/programs/GraphModel.h"

#include "driver/Contexts.h"
#include "driver/LevelOneProgram.h"

namespace headrace {

std::unique_ptr<graph::GraphBuilder> makeGraphBuilder(const std::string &name,
                                                      const Settings &settings) {
  return std::make_unique<graph::GraphBuilder>(contextFor(findTarget(settings.target)), name);
}

std::shared_ptr<Model> makeModel(graph::GraphBuilder &builder, const Settings &settings) {
  LevelOneProgram program{builder.name(), builder.context(), builder.finish()};
  return std::make_shared<Model>(std::move(program), settings);
}

} // namespace headrace
