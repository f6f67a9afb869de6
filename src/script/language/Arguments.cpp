#include "script/language/Arguments.h"

#include <algorithm>

namespace headrace::script {

static std::string listed(const std::vector<FormalParameter> &parameters) {
  std::string text;
  for (const FormalParameter &parameter : parameters)
    text += (text.empty() ? "" : ", ") + parameter.name;
  return text.empty() ? "none" : text;
}

std::vector<const Argument *> bindArguments(SourceLocation place, const Call &call,
                                            const Signature &signature) {
  const auto &[parameters, positional, variadic] = signature;
  std::string name = "'" + call.fullName() + "'";
  std::vector<const Argument *> bound(parameters.size(), nullptr);
  std::vector<const Argument *> rest;
  for (const Argument &argument : call.arguments) {
    if (argument.name.empty() || positional)
      continue;
    auto found = std::ranges::find(parameters, argument.name, &FormalParameter::name);
    if (found == parameters.end()) {
      if (!variadic)
        fail(argument.place,
             name + " has no parameter '" + argument.name + "': it has " + listed(parameters));
      continue;
    }
    const Argument *&slot = bound[static_cast<size_t>(found - parameters.begin())];
    if (slot)
      fail(argument.place, name + " is given its argument '" + argument.name + "' twice");
    slot = &argument;
  }

  size_t next = 0;
  for (const Argument &argument : call.arguments) {
    if (std::ranges::find(bound, &argument) != bound.end())
      continue;
    while (next < bound.size() && bound[next])
      ++next;
    if ((argument.name.empty() || positional) && next < bound.size())
      bound[next] = &argument;
    else if (variadic)
      rest.push_back(&argument);
    else
      fail(argument.place, name + " takes at most " + std::to_string(parameters.size()) +
                               (parameters.size() == 1 ? " argument" : " arguments") + ", got " +
                               std::to_string(call.arguments.size()));
  }
  for (size_t i = 0; i < bound.size(); ++i)
    if (!bound[i] && parameters[i].required)
      fail(place, name + " needs its argument '" + parameters[i].name + "'");
  bound.insert(bound.end(), rest.begin(), rest.end());
  return bound;
}

} // namespace headrace::script
