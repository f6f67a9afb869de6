// The steps of the recipe that carries out a schedule.
#pragma once

#include "target/cpu/loops/CpuSchedule.h"
#include "target/cpu/recipe/KernelLoops.h"
#include "transform/recipe/Recipe.h"

namespace headrace {

/// The recipe of a schedule that is legal for the kernel.
Recipe writeSteps(const KernelLoops &loops, const CpuSchedule &schedule);

} // namespace headrace
