#include "runtime/program/Engine.h"

#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Listing.h"

#include <algorithm>
#include <mutex>

namespace headrace {

namespace {

class HostEngine final : public Engine {
public:
  std::string_view name() const override { return hostEngine; }
  std::string unsupportedReason(const ProcessorNeeds &needs) const override {
    return hostHas(needs) ? "" : "this CPU is another one";
  }
  std::unique_ptr<const EngineProgram> load(const Program &program,
                                            const ProgramCode &) const override {
    throw InternalError("program '" + program.name + "': the host runs its own steps");
  }
};

struct Engines {
  ForkSafeMutex mutex;
  std::vector<const Engine *> all;
};

Engines &engines() {
  static const HostEngine host;
  static Engines known = [] {
    std::vector<const Engine *> all = shippedEngines();
    all.insert(all.begin(), &host);
    return Engines{{}, std::move(all)};
  }();
  return known;
}

} // namespace

std::unique_ptr<ProgramRunner> Engine::makeRunner(Program program, ProgramCode code) const {
  return makeHostRunner(std::move(program), std::move(code));
}

const Engine *lookUpEngine(std::string_view name) {
  Engines &known = engines();
  std::lock_guard lock(known.mutex);
  auto found = std::ranges::find(known.all, name, &Engine::name);
  return found == known.all.end() ? nullptr : *found;
}

const Engine &findEngine(std::string_view name) {
  if (const Engine *engine = lookUpEngine(name))
    return *engine;
  std::vector<std::string_view> names;
  Engines &known = engines();
  std::lock_guard lock(known.mutex);
  for (const Engine *engine : known.all)
    names.push_back(engine->name());
  throw Error(ErrorKind::Unsupported,
              "unknown engine '" + std::string(name) + "'; expected " + listed(names));
}

void addEngine(const Engine &engine) {
  if (lookUpEngine(engine.name()))
    return;
  Engines &known = engines();
  std::lock_guard lock(known.mutex);
  known.all.push_back(&engine);
}

std::string engineOf(const ProcessorNeeds &needs) {
  return needs.architecture == hostArchitecture() ? hostEngine : needs.architecture;
}

bool runsHere(const ProcessorNeeds &needs) {
  const Engine *engine = lookUpEngine(engineOf(needs));
  return engine && engine->unsupportedReason(needs).empty();
}

} // namespace headrace
