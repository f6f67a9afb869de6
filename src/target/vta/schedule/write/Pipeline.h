// Actions of the three modules and the dependences between them, from which tokens follow.
#pragma once

#include "runtime/vta/CommandStream.h"

#include <functional>

namespace headrace::vta {

/// Actions of one module each, in the order of the program. An action may wait for earlier ones of
/// a neighbouring module; what is ordered already costs no token.
class Pipeline {
public:
  /// The number of an action. Before the first there is nothing to wait for.
  using Action = int64_t;
  static constexpr Action none = -1;

  /// `commands` writes instructions of the module, at least one.
  Action add(Module module, std::function<void()> commands,
             std::initializer_list<Action> waitsFor = {});

  /// The latest action of the module.
  Action lastOf(Module module) const { return last[static_cast<size_t>(module)]; }

  void write(CommandStream &stream);

private:
  struct Entry {
    Module module;
    std::function<void()> commands;
    std::vector<Module> popsFrom, pushesTo;
  };
  std::vector<Entry> entries;
  std::array<Action, moduleCount> last = {none, none, none};
  /// The latest action of the first module that the second has waited for.
  std::array<std::array<Action, moduleCount>, moduleCount> waited = {
      {{none, none, none}, {none, none, none}, {none, none, none}}};
};

} // namespace headrace::vta
