// Segments compiled when they are requested.
#pragma once

#include "driver/Settings.h"

#include "script/plan/SegmentSource.h"

namespace headrace::script {

/// The compiler itself starts with the first segment.
std::shared_ptr<SegmentSource> makeSegmentCompiler(const Settings &settings);

} // namespace headrace::script
