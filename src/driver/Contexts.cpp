#include "driver/Contexts.h"

#include "dialect/ConstantPool.h"
#include "dialect/Hr.h"
#include "driver/CompilerMemory.h"
#include "driver/CompilerThreads.h"
#include "runtime/system/ForkSafety.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <mutex>
#include <string>
#include <vector>

using namespace mlir;

namespace headrace {
namespace {

/// A MobileNet leaves 5 MB in its context, and nothing more the second time.
constexpr int kMaxPrograms = 32;
constexpr size_t kMaxIdle = 4;

struct KeptContext {
  std::string target;
  std::unique_ptr<MLIRContext> context;
  size_t dialects = 0; // when it was made
  int programs = 0;    // that had it so far
};

struct IdleContexts {
  ForkSafeMutex mutex;
  std::vector<std::unique_ptr<KeptContext>> contexts; // the one given back last is last
};

IdleContexts &idleContexts() {
  static auto *idle = new IdleContexts; // programs may outlive statics
  return *idle;
}

std::unique_ptr<KeptContext> makeContext(const Target &target) {
  forgetLoadedCode();
  DialectRegistry registry;
  registry.insert<hr::HrDialect, func::FuncDialect>();
  target.registerDialects(registry);
  findTarget(hostEngine).registerDialects(registry);
  CompilerSection section;
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  useProcessThreads(*context);
  context->loadAllAvailableDialects();
  size_t dialects = context->getLoadedDialects().size();
  return std::make_unique<KeptContext>(target.name().str(), std::move(context), dialects);
}

/// Null if none is idle.
std::unique_ptr<KeptContext> takeIdle(StringRef target) {
  IdleContexts &idle = idleContexts();
  std::lock_guard lock(idle.mutex);
  for (size_t i = idle.contexts.size(); i-- > 0;)
    if (idle.contexts[i]->target == target) {
      std::unique_ptr<KeptContext> taken = std::move(idle.contexts[i]);
      idle.contexts.erase(idle.contexts.begin() + static_cast<ptrdiff_t>(i));
      return taken;
    }
  return nullptr;
}

void giveBack(KeptContext *given) {
  std::unique_ptr<KeptContext> kept(given), dropped; // destroyed outside the lock
  // Moving a program to another target loads the dialects of that one.
  bool isAsMade = kept->context->getLoadedDialects().size() == kept->dialects;
  if (!isAsMade || kept->programs >= kMaxPrograms)
    return;
  ConstantPool::of(kept->context.get()).startAgain();
  IdleContexts &idle = idleContexts();
  std::lock_guard lock(idle.mutex);
  idle.contexts.push_back(std::move(kept));
  if (idle.contexts.size() > kMaxIdle) {
    dropped = std::move(idle.contexts.front());
    idle.contexts.erase(idle.contexts.begin());
  }
}

} // namespace

std::shared_ptr<MLIRContext> contextFor(const Target &target) {
  std::unique_ptr<KeptContext> kept = takeIdle(target.name());
  if (!kept)
    kept = makeContext(target);
  ++kept->programs;
  std::shared_ptr<KeptContext> lease(kept.release(), giveBack);
  return {lease, lease->context.get()};
}

void addTarget(MLIRContext &context, const Target &target) {
  DialectRegistry registry;
  target.registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

} // namespace headrace
