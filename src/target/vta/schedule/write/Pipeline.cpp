#include "target/vta/schedule/write/Pipeline.h"

#include <algorithm>

namespace headrace::vta {

Pipeline::Action Pipeline::add(Module module, std::function<void()> commands,
                               std::initializer_list<Action> waitsFor) {
  Entry entry{module, std::move(commands), {}, {}};
  std::array<Action, moduleCount> latest = {none, none, none};
  for (Action action : waitsFor)
    if (action != none) {
      auto from = static_cast<size_t>(entries[static_cast<size_t>(action)].module);
      latest[from] = std::max(latest[from], action);
    }
  for (size_t from = 0; from < latest.size(); ++from) {
    Action &before = waited[from][static_cast<size_t>(module)];
    // A queue gives tokens in the order they came, and later actions end later: one that waited
    // has waited for all before.
    if (latest[from] <= before || from == static_cast<size_t>(module))
      continue;
    before = latest[from];
    entries[static_cast<size_t>(before)].pushesTo.push_back(module);
    entry.popsFrom.push_back(static_cast<Module>(from));
  }
  entries.push_back(std::move(entry));
  return last[static_cast<size_t>(module)] = static_cast<Action>(entries.size()) - 1;
}

void Pipeline::write(CommandStream &stream) {
  for (const Entry &entry : entries) {
    for (Module from : entry.popsFrom)
      stream.pop(from, entry.module);
    entry.commands();
    for (Module to : entry.pushesTo)
      stream.push(entry.module, to);
  }
}

} // namespace headrace::vta
