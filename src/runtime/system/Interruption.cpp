#include "runtime/system/Interruption.h"

#include "runtime/system/ForkSafety.h"

#include <chrono>
#include <thread>
#include <utility>

namespace headrace {

struct InterruptionSource::State {
  std::function<bool()> isAsked;
  std::thread::id asker; // who may call it
  std::chrono::steady_clock::time_point next{};
  std::atomic<bool> stopped{false};
};

namespace {

using State = InterruptionSource::State;
constexpr auto interval = std::chrono::milliseconds(50);

thread_local State *current = nullptr;

} // namespace

InterruptionSource::InterruptionSource(std::function<bool()> isAsked)
    : state(std::make_unique<State>()), outer(std::exchange(current, state.get())) {
  state->isAsked = std::move(isAsked);
  state->asker = std::this_thread::get_id();
}

InterruptionSource::~InterruptionSource() { current = outer; }

bool isInterrupted() {
  State *state = current;
  if (!state)
    return false;
  if (state->stopped.load(std::memory_order_relaxed) || state->asker != std::this_thread::get_id())
    return state->stopped.load(std::memory_order_relaxed);
  auto now = std::chrono::steady_clock::now();
  if (now < state->next)
    return false;
  state->next = now + interval;
  CompilerSection::Pause pause; // the answer may need a lock that whoever forks holds
  if (state->isAsked())
    state->stopped = true;
  return state->stopped;
}

void pollInterruption() {
  if (isInterrupted())
    throw Interrupted();
}

InterruptionSource::State *interruptionOfThread() { return current; }

AdoptInterruption::AdoptInterruption(InterruptionSource::State *state)
    : before(std::exchange(current, state)) {}
AdoptInterruption::~AdoptInterruption() { current = before; }

} // namespace headrace
