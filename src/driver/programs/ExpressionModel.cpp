#include "driver/programs/ExpressionModel.h"

#include "driver/Contexts.h"
#include "driver/LevelOneProgram.h"
#include "frontend/expr/ImportExpression.h"

namespace headrace {

std::shared_ptr<Model> makeModel(const std::vector<expr::Stage> &outputs, const std::string &name,
                                 const Settings &settings) {
  LevelOneProgram program{name, contextFor(findTarget(settings.target)), {}};
  program.module = expr::importExpression(outputs, *program.context, name);
  return std::make_shared<Model>(std::move(program), settings);
}

} // namespace headrace
