#include "target/cuda/schedule/LaunchRecipe.h"

#include "transform/recipe/ScheduleLine.h"

namespace headrace::cuda {

std::vector<LaunchLine> parseLaunches(std::string_view text) {
  auto parametersOf = [](llvm::StringRef kind) {
    return Schedule::parametersOf(*Schedule::kindNamed(kind));
  };
  std::vector<LaunchLine> launches;
  for (ScheduleLine &line :
       parseSchedules(text, {"a kind of launch", Schedule::kindNames(), parametersOf}))
    launches.push_back({std::move(line.stage),
                        {*Schedule::kindNamed(line.kind), std::move(line.parameters)},
                        line.line});
  return launches;
}

} // namespace headrace::cuda
