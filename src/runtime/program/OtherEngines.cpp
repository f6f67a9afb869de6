#include "runtime/program/OtherEngines.h"

namespace headrace {

OtherEngines::OtherEngines(Program &program, const ProgramCode &code) : program(program) {
  for (const Step &step : program.steps) {
    if (step.engine != hostEngine && numberOf(step.engine) == none)
      known.push_back({findEngine(step.engine), nullptr, {}});
    ofStep.push_back(numberOf(step.engine));
  }
  for (const BufferInfo &buffer : program.buffers) {
    ofBuffer.push_back(numberOf(buffer.engine));
    bool isCallers =
        buffer.kind == BufferInfo::Kind::Input || buffer.kind == BufferInfo::Kind::Output;
    if (isCallers && buffer.engine != hostEngine)
      failUnsound(program,
                  "an input or output of several engines is stored on '" + buffer.engine + "'");
  }
  for (Known &other : known) {
    other.steps = other.engine.load(program, code);
    moveConstants(other);
  }
  if (!known.empty())
    dropConstantsReadElsewhere();
}

int OtherEngines::numberOf(std::string_view engine) const {
  for (size_t i = 0; i < known.size(); ++i)
    if (known[i].engine.name() == engine)
      return static_cast<int>(i);
  return none;
}

void OtherEngines::moveConstants(Known &other) {
  std::unique_ptr<EngineSession> session = other.steps->begin();
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const BufferInfo &buffer = program.buffers[id];
    if (buffer.kind != BufferInfo::Kind::Constant || buffer.engine != other.engine.name())
      continue;
    const Tensor &constant = program.constants[static_cast<size_t>(buffer.index)];
    auto bytes = static_cast<int64_t>(constant.bytes());
    std::shared_ptr<void> memory = session->allocate(bytes, "constants");
    if (bytes > 0)
      session->copyIn(memory.get(), constant.data(), bytes);
    other.constants.emplace_back(id, std::move(memory));
  }
}

void OtherEngines::dropConstantsReadElsewhere() {
  std::vector<bool> isRead(program.constants.size());
  for (const Step &step : program.steps)
    for (int id : step.operands)
      if (const BufferInfo &buffer = program.buffers[static_cast<size_t>(id)];
          buffer.kind == BufferInfo::Kind::Constant && buffer.engine == hostEngine)
        isRead[static_cast<size_t>(buffer.index)] = true;
  for (size_t i = 0; i < isRead.size(); ++i)
    if (Tensor &constant = program.constants[i]; !isRead[i]) // type and shape stay
      constant = Tensor::borrow(constant.dtype(), constant.shape(), nullptr, nullptr);
}

std::optional<SimulatedStep> OtherEngines::simulated(size_t step) const {
  if (!runs(step) || program.steps[step].kind == Step::Kind::Transfer)
    return std::nullopt;
  return known[static_cast<size_t>(ofStep[step])].steps->simulated(step);
}

OtherEngines::Visits OtherEngines::begin() const {
  Visits visits;
  for (const Known &other : known)
    visits.all.push_back({other.steps->begin(), nullptr, 0});
  return visits;
}

void OtherEngines::placeBuffers(Visits &visits, const Binding &binding,
                                std::span<void *> buffers) const {
  for (size_t i = 0; i < known.size(); ++i) {
    Visits::Visit &visit = visits.all[i];
    int64_t wanted = binding.plan.arenaBytes(known[i].engine.name());
    if (wanted > visit.capacity) {
      visit.arena.reset(); // first, so that old and new need not fit together
      visit.capacity = 0;
      visit.arena = visit.session->allocate(wanted, "intermediate results");
      visit.capacity = wanted;
    }
    auto *arena = static_cast<std::byte *>(visit.arena.get());
    for (size_t id = 0; id < buffers.size(); ++id)
      if (ofBuffer[id] == static_cast<int>(i) &&
          program.buffers[id].kind == BufferInfo::Kind::Temporary)
        buffers[id] = arena + binding.plan.offsets[id];
    for (const auto &[id, memory] : known[i].constants)
      buffers[id] = memory.get();
  }
}

void OtherEngines::run(size_t index, const Visits &visits, const Binding &binding,
                       std::span<void *const> buffers) const {
  const Step &step = program.steps[index];
  const Visits::Visit &visit = visits.all[static_cast<size_t>(ofStep[index])];
  if (step.kind != Step::Kind::Transfer)
    return visit.session->run(index,
                              {binding, buffers, static_cast<std::byte *>(visit.arena.get())});
  auto from = static_cast<size_t>(step.operands[0]), to = static_cast<size_t>(step.operands[1]);
  int64_t bytes = binding.steps[index].parameters[0];
  if (bytes == 0)
    return;
  if (holds(to))
    visit.session->copyIn(buffers[to], buffers[from], bytes);
  else
    visit.session->copyOut(buffers[to], buffers[from], bytes);
}

void OtherEngines::finish(const Visits &visits, const Binding &binding,
                          std::span<void *const> buffers) const {
  for (const Visits::Visit &visit : visits.all)
    visit.session->finish({binding, buffers, static_cast<std::byte *>(visit.arena.get())});
}

} // namespace headrace
