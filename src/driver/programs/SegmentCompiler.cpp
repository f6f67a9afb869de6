#include "driver/programs/SegmentCompiler.h"

#include "driver/CompiledRegion.h"
#include "driver/Contexts.h"
#include "frontend/script/SegmentImporter.h"
#include "runtime/system/ForkSafety.h"

#include "adaptive/VersionStore.h"
#include <mutex>

namespace headrace::script {

namespace {

class SegmentCompiler : public SegmentSource {
public:
  explicit SegmentCompiler(const Settings &settings) : settings(settings) {}

  std::shared_ptr<adaptive::RegionCode> find(const Dag &dag, const Segment &segment) override {
    std::string name = segmentName(dag, segment);
    std::string key = name + " " + segmentKey(dag, segment);
    if (auto known = segments.find(key))
      return known;
    auto [context, lock] = contextOfNext();
    std::lock_guard guard(*lock);
    LevelOneProgram program{name, context, importSegment(dag, segment, *context, name)};
    program.contextLock = lock;
    auto made = std::make_shared<CompiledRegion>(std::move(program), settings);
    segments.add(key, made);
    return made;
  }

private:
  /// A context, and the lock that segments compile under; versions in the background make way.
  struct SharedContext {
    std::shared_ptr<mlir::MLIRContext> context;
    std::shared_ptr<LongLock> lock;
  };

  SharedContext contextOfNext() {
    std::lock_guard guard(mutex);
    if (used++ % kSegmentsPerContext == 0)
      shared = {contextFor(findTarget(settings.target)),
                std::make_shared<LongLock>("segments of a script")};
    return shared;
  }

  static constexpr size_t kMaxSegments = 256;
  /// A context with its patterns takes 5 MB; what segments leave in it goes with the last of them.
  static constexpr size_t kSegmentsPerContext = 32;

  ForkSafeMutex mutex;
  SharedContext shared;
  size_t used = 0; // how often a context was asked for

  Settings settings;
  /// Plans for other arguments or variables may have segments that compute the same.
  adaptive::VersionStore<std::string, adaptive::RegionCode> segments{kMaxSegments};
};

} // namespace

std::shared_ptr<SegmentSource> makeSegmentCompiler(const Settings &settings) {
  return std::make_shared<SegmentCompiler>(settings);
}

} // namespace headrace::script
