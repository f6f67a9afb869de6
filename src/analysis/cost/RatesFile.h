// Measured rates on disk: in the user's cache, by processor, number of threads and version.
#pragma once

#include "analysis/cost/Rates.h"

#include <optional>

namespace headrace {

/// As JSON, and back. A text that does not hold sound rates throws Error that says what is wrong.
std::string ratesToText(const Rates &rates);
Rates ratesFromText(std::string_view text, const std::string &what);

/// The rates stored for a machine of this name, with so many threads; nothing if there are none
/// or where the file is damaged or another machine's, of which `warning` tells.
std::optional<Rates> storedRates(const std::string &machine, int threads,
                                 std::string *warning = nullptr);
/// Rates of the CPU that the process runs on: stored ones, else derived. HEADRACE_RATES replaces
/// both with the rates in the file it names, or is `derived`, which leaves stored ones aside. Read
/// once; throws Error if that file is not one.
const Rates &hostRates();
/// Keeps them; false if there is no cache to keep them in.
bool storeRates(const Rates &rates);

} // namespace headrace
