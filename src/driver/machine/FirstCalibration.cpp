#include "driver/machine/FirstCalibration.h"

#include "analysis/cost/RatesFile.h"
#include "driver/machine/Calibrate.h"
#include "runtime/system/Interruption.h"

#include "adaptive/BackgroundWork.h"
#include <atomic>

namespace headrace {

static void measureAndStore() {
  InterruptionSource unwanted([] { return adaptive::background::isUnwanted(); });
  if (std::optional<Rates> rates = calibrateQuickly({}))
    (void)storeRates(*rates);
}

static std::atomic<bool> begun{false};

void forgoFirstCalibration() { begun = true; }

void calibrateOnce(const Settings &settings) {
  if (settings.target == Settings{}.target && !begun.exchange(true) && wantsCalibration())
    adaptive::background::add(&begun, measureAndStore);
}

} // namespace headrace
