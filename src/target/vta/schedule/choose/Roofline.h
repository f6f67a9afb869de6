// A chart of how near to its limits the accelerator comes: multiplications a cycle over
// multiplications a byte, under the roof that the matrix unit and the port of DRAM make.
#pragma once

#include "target/vta/schedule/choose/ScheduleReport.h"

namespace headrace::vta {

/// An operator without and with latency hiding.
struct RooflinePoint {
  std::string name;
  int64_t macs;
  ScheduleReport oneThread, twoThreads;
};

std::string rooflineSvg(const std::vector<RooflinePoint> &points,
                        const Configuration &configuration, const CycleConstants &constants = {});

} // namespace headrace::vta
