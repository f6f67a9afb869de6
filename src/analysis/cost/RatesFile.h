// Measured rates on disk: in the user's cache, by CPU, number of threads and version.
#pragma once

#include "analysis/cost/Rates.h"

#include <optional>

namespace headrace {

/// Convert machine parameters to JSON, and back. Reading throws Error with the fault if the text
/// does not hold sound parameters.
std::string ratesToText(const Rates &rates);
Rates ratesFromText(std::string_view text, const std::string &what);

/// A hash of all parameters but the machine's name: equal rates lead to equal choices.
std::string hashOf(const Rates &rates);
/// The rates in a line: "AMD EPYC, 26-2-1: derived, 1f0c...".
std::string describedRates(const Rates &rates);

/// The parameters stored for a machine of this name and number of threads; nothing if there are
/// none, or, with a `warning`, if the file is damaged or another machine's.
std::optional<Rates> storedRates(const std::string &machine, int threads,
                                 std::string *warning = nullptr);
/// Rates of the CPU that the process runs on: stored ones, else derived. HEADRACE_RATES replaces
/// both with the rates in the file it names, or is `derived`, which leaves stored ones aside. Read
/// once; throws Error if that file is not one.
const Rates &hostRates();
/// Whether a calibration would be of use: nothing was measured here, the rates are not pinned, and
/// there is a cache to store others in.
bool wantsCalibration();
/// Keeps them; false if there is no cache to keep them in.
bool storeRates(const Rates &rates);

} // namespace headrace
