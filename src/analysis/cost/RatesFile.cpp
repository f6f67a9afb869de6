#include "analysis/cost/RatesFile.h"

#include "analysis/cost/ProcessorRates.h"
#include "runtime/system/Error.h"
#include "runtime/system/FileCache.h"
#include "runtime/system/Json.h"
#include "runtime/system/MappedFile.h"

#include <cmath>
#include <cstdlib>

namespace headrace {

namespace {

// Raised when the meaning of a rate, or how it is measured, changes.
constexpr int64_t version = 1;

/// A speed, a size or a time: positive, and of this world.
double positive(const Json &value, const char *what) {
  if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > 1e18)
    throw JsonFault(std::string("expected a positive number for ") + what + ", got " +
                    value.dump().substr(0, 40));
  return value.get<double>();
}

double positive(const Json &object, const char *name, const char *what) {
  return positive(member(object, name), what);
}

Json speedsToJson(const Rates::Speeds &speeds) {
  Json json;
  for (size_t i = 0; i < operationKinds; ++i)
    json[std::string(nameOf(static_cast<OperationKind>(i)))] = speeds[i];
  return json;
}

Rates::Speeds speedsFromJson(const Json &json) {
  Rates::Speeds speeds{};
  for (size_t i = 0; i < operationKinds; ++i) {
    std::string name(nameOf(static_cast<OperationKind>(i)));
    speeds[i] = positive(json, name.c_str(), "a speed");
  }
  return speeds;
}

Json libraryToJson(const std::vector<Rates::LibrarySpeed> &speeds) {
  Json json = Json::array();
  for (const Rates::LibrarySpeed &point : speeds)
    json.push_back({point.side, point.speed});
  return json;
}

/// A list of rows of numbers whose first ascends.
std::vector<std::vector<double>> rowsOf(const Json &lists, const char *name, size_t columns) {
  std::vector<std::vector<double>> rows;
  for (const Json &row : list(lists, name)) {
    if (!row.is_array() || row.size() != columns)
      throw JsonFault(std::string("expected rows of ") + std::to_string(columns) + " numbers in '" +
                      name + "'");
    std::vector<double> &numbers = rows.emplace_back();
    for (const Json &value : row)
      numbers.push_back(positive(value, name));
    if (rows.size() > 1 && numbers[0] <= rows[rows.size() - 2][0])
      throw JsonFault(std::string("expected ascending rows in '") + name + "'");
  }
  return rows;
}

std::vector<Rates::LibrarySpeed> libraryFromJson(const Json &json, const char *name) {
  std::vector<Rates::LibrarySpeed> speeds;
  for (const std::vector<double> &row : rowsOf(json, name, 2))
    speeds.push_back({row[0], row[1]});
  return speeds;
}

Rates ratesFromJson(const Json &json) {
  if (int64_t found = integer(json, "version"); found != version)
    throw JsonFault("expected version " + std::to_string(version) + ", got " +
                    std::to_string(found));
  Rates rates;
  rates.machine = text(json, "machine");
  rates.measured = member(json, "measured").is_boolean() && member(json, "measured").get<bool>();
  rates.threads = static_cast<int>(integer(json, "threads", 1, 1 << 20));
  for (const std::vector<double> &row : rowsOf(json, "memory", 3))
    rates.memory.push_back({row[0], row[1], row[2]});
  if (rates.memory.empty())
    throw JsonFault("expected at least one row in 'memory'");
  const Json &caches = member(json, "caches");
  rates.nearCacheBytes = positive(caches, "near", "the size of a cache");
  rates.coreCacheBytes = positive(caches, "core", "the size of a cache");
  if (json.contains("unit_bytes")) // files written before there was such a rate
    rates.unitBytes = positive(json, "unit_bytes", "the size of a unit");
  const Json &speeds = member(json, "speeds");
  rates.f32 = speedsFromJson(member(speeds, "f32"));
  rates.f64 = speedsFromJson(member(speeds, "f64"));
  rates.narrow = speedsFromJson(member(speeds, "narrow"));
  const Json &library = member(json, "library");
  rates.libraryF32 = libraryFromJson(library, "f32");
  rates.libraryF64 = libraryFromJson(library, "f64");
  const Json &calls = member(json, "calls");
  rates.kernelCall = positive(calls, "kernel", "microseconds");
  rates.sharing = positive(calls, "sharing", "microseconds");
  rates.libraryCall = positive(calls, "library", "microseconds");
  return rates;
}

std::string keyOf(const std::string &machine, int threads) {
  return FileCache::key({"rates", std::to_string(version), machine, std::to_string(threads)});
}

Rates pinnedRates(const char *path) {
  auto file = MappedFile::open(path);
  std::string_view text(reinterpret_cast<const char *>(file->data()), file->size());
  return ratesFromText(text, std::string("HEADRACE_RATES: ") + path);
}

} // namespace

std::string ratesToText(const Rates &rates) {
  Json memory = Json::array();
  for (const Rates::Bandwidth &level : rates.memory)
    memory.push_back({level.bytes, level.ofOneThread, level.ofAllThreads});
  Json json = {
      {"version", version},
      {"machine", rates.machine},
      {"measured", rates.measured},
      {"threads", rates.threads},
      {"memory", std::move(memory)},
      {"caches", {{"near", rates.nearCacheBytes}, {"core", rates.coreCacheBytes}}},
      {"unit_bytes", rates.unitBytes},
      {"speeds",
       {{"f32", speedsToJson(rates.f32)},
        {"f64", speedsToJson(rates.f64)},
        {"narrow", speedsToJson(rates.narrow)}}},
      {"library",
       {{"f32", libraryToJson(rates.libraryF32)}, {"f64", libraryToJson(rates.libraryF64)}}},
      {"calls",
       {{"kernel", rates.kernelCall}, {"sharing", rates.sharing}, {"library", rates.libraryCall}}}};
  return json.dump(2);
}

std::string hashOf(const Rates &rates) {
  Rates nameless = rates;
  nameless.machine.clear();
  return FileCache::key({"rates", ratesToText(nameless)}).substr(0, 16);
}

std::string describedRates(const Rates &rates) {
  return rates.machine + ": " + (rates.measured ? "measured, " : "derived, ") + hashOf(rates);
}

Rates ratesFromText(std::string_view text, const std::string &what) {
  try {
    return ratesFromJson(parseJson(text, what));
  } catch (const JsonFault &fault) {
    throw Error(ErrorKind::InvalidFile, what + ": " + fault.what());
  }
}

std::optional<Rates> storedRates(const std::string &machine, int threads, std::string *warning) {
  FileCache cache = FileCache::user("rates");
  std::string key = keyOf(machine, threads);
  std::optional<std::string> text = cache.find(key);
  if (!text && warning && cache.isDamaged(key))
    *warning = "the stored machine parameters are damaged";
  if (!text)
    return std::nullopt;
  try {
    Rates rates = ratesFromText(*text, "the stored machine parameters");
    if (rates.machine == machine && rates.threads == threads)
      return rates;
    if (warning)
      *warning =
          "the stored machine parameters are of '" + rates.machine + "', not of '" + machine + "'";
  } catch (const Error &error) {
    if (warning)
      *warning = error.what();
  }
  return std::nullopt;
}

const Rates &hostRates() {
  static const Rates rates = [] {
    const char *pinned = std::getenv("HEADRACE_RATES");
    Rates derived = derivedRates(describeHost());
    if (pinned && std::string_view(pinned) == "derived")
      return derived;
    if (pinned && *pinned)
      return pinnedRates(pinned);
    return storedRates(derived.machine, derived.threads).value_or(derived);
  }();
  return rates;
}

bool wantsCalibration() {
  if (std::getenv("HEADRACE_RATES") || hostRates().measured)
    return false;
  FileCache cache = FileCache::user("calibration");
  constexpr const char *probe = "begun";
  cache.store(probe, "");
  return cache.find(probe).has_value();
}

bool storeRates(const Rates &rates) {
  FileCache cache = FileCache::user("rates");
  std::string key = keyOf(rates.machine, rates.threads);
  cache.store(key, ratesToText(rates));
  return cache.find(key).has_value();
}

} // namespace headrace
