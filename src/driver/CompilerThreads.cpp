#include "driver/CompilerThreads.h"

#include "runtime/system/ForkSafety.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/ThreadPool.h"

#include "llvm/Support/ThreadPool.h"
#include "mlir/Pass/PassManager.h"

#include <map>
#include <mutex>

using namespace mlir;

namespace headrace {
namespace {

/// Tasks are deferred until a thread waits for them: then they are a loop of the process's pool.
class ProcessThreads final : public llvm::ThreadPoolInterface {
public:
  void wait() override { runAll(nullptr); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { runAll(&group); }
  unsigned getMaxConcurrency() const override {
    return static_cast<unsigned>(ThreadPool::global().threads());
  }

private:
  using Tasks = std::vector<std::function<void()>>;

  void asyncEnqueue(std::function<void()> task, llvm::ThreadPoolTaskGroup *group) override {
    std::lock_guard lock(mutex);
    pending[group].push_back(std::move(task));
  }

  Tasks take(llvm::ThreadPoolTaskGroup *group) {
    std::lock_guard lock(mutex);
    auto found = pending.find(group);
    if (found == pending.end())
      return {};
    Tasks tasks = std::move(found->second);
    pending.erase(found);
    return tasks;
  }

  // Tasks that a task adds come next.
  void runAll(llvm::ThreadPoolTaskGroup *group) {
    for (Tasks tasks = take(group); !tasks.empty(); tasks = take(group)) {
      CompilerSection::Pause pause;
      try {
        ThreadPool::global().parallelFor(static_cast<int64_t>(tasks.size()), 1,
                                         [&](int64_t begin, int64_t end, int) {
                                           CompilerSection section;
                                           for (int64_t i = begin; i < end; ++i)
                                             tasks[i]();
                                         });
      } catch (const Interrupted &) { // NOLINT(bugprone-empty-catch)
        // No exception may pass through MLIR; whoever runs the passes asks again.
      }
    }
  }

  std::mutex mutex;
  std::map<llvm::ThreadPoolTaskGroup *, Tasks> pending;
};

ProcessThreads &processThreads() {
  static auto *threads = new ProcessThreads; // contexts may outlive statics
  return *threads;
}

/// Once interrupted, all passes that are left do nothing, and the run of them is over at once.
void runPass(function_ref<void()> run, const tracing::Action &action) {
  if (isa<PassExecutionAction>(action)) {
    if (isInterrupted())
      return;
    CompilerSection::yieldToFork();
  }
  run();
}

} // namespace

void useProcessThreads(MLIRContext &context) {
  context.setThreadPool(processThreads());
  context.registerActionHandler(runPass);
}

} // namespace headrace
