#include "driver/programs/SegmentCompiler.h"

#include "adaptive/VersionStore.h"
#include "driver/Contexts.h"
#include "driver/programs/CompiledRegion.h"
#include "frontend/script/SegmentImporter.h"

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
    // In a context of its own: another segment may get a version in the background meanwhile.
    auto context = contextFor(findTarget(settings.target));
    LevelOneProgram program{name, context, importSegment(dag, segment, *context, name)};
    auto made = std::make_shared<CompiledRegion>(std::move(program), settings);
    segments.add(key, made);
    return made;
  }

private:
  static constexpr size_t kMaxSegments = 256;

  Settings settings;
  /// Plans for other arguments or variables may have segments that compute the same.
  adaptive::VersionStore<std::string, adaptive::RegionCode> segments{kMaxSegments};
};

} // namespace

std::shared_ptr<SegmentSource> makeSegmentCompiler(const Settings &settings) {
  return std::make_shared<SegmentCompiler>(settings);
}

} // namespace headrace::script
