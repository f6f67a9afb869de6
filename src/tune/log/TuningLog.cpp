#include "tune/log/TuningLog.h"

#include "runtime/system/Error.h"

#include "tune/store/TunedStore.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <unistd.h>

namespace headrace::tune {

namespace fs = std::filesystem;

namespace {

Json floatsToJson(const std::vector<float> &values) {
  Json json = Json::array();
  for (float value : values)
    json.push_back(std::round(static_cast<double>(value) * 10000) / 10000);
  return json;
}

std::vector<float> floatsFromJson(const Json &object, const char *name) {
  constexpr size_t kMaxFeatures = 4096;
  const Json &values = list(object, name);
  if (values.size() > kMaxFeatures)
    throw JsonFault(std::string("expected at most 4096 features in '") + name + "'");
  std::vector<float> result;
  for (const Json &value : values) {
    if (!value.is_number())
      throw JsonFault(std::string("expected numbers in '") + name + "'");
    result.push_back(value.get<float>());
  }
  return result;
}

double number(const Json &object, const char *name) {
  const Json &value = member(object, name);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
    throw JsonFault(std::string("expected a number '") + name + "'");
  return value.get<double>();
}

} // namespace

Json toJson(const Trial &trial) {
  const Measurement &found = trial.measurement;
  Json schedules = Json::array();
  for (const ScheduleRecord &schedule : trial.candidate.schedules)
    schedules.push_back(toJson(schedule));
  Json json{
      {"kernel", trial.kernel},        {"anchor", trial.anchor},        {"name", trial.name},
      {"machine", trial.machine},      {"generator", generatorVersion}, {"schedules", schedules},
      {"status", nameOf(found.status)}};
  if (!found.reason.empty())
    json["reason"] = found.reason;
  json["us"] = found.microseconds;
  json["default_us"] = found.defaultMicroseconds;
  json["cold_us"] = found.coldMicroseconds;
  json["default_cold_us"] = found.defaultColdMicroseconds;
  json["predicted_us"] = trial.predictedMicroseconds;
  json["features"] = {{"configuration", floatsToJson(trial.features.configuration)},
                      {"loops", floatsToJson(trial.features.loops)},
                      {"steps", floatsToJson(trial.features.steps)}};
  return json;
}

Trial trialFromJson(const Json &json) {
  Trial trial;
  trial.kernel = text(json, "kernel");
  trial.anchor = text(json, "anchor");
  trial.name = text(json, "name");
  trial.machine = text(json, "machine");
  if (integer(json, "generator") != generatorVersion)
    throw JsonFault("a result of another version of the generator");
  for (const Json &schedule : list(json, "schedules"))
    trial.candidate.schedules.push_back(scheduleFromJson(schedule));
  std::string status = text(json, "status");
  std::optional<Measurement::Status> known = statusNamed(status);
  if (!known)
    throw JsonFault("unknown status '" + status.substr(0, 40) + "'");
  Measurement &found = trial.measurement;
  found.status = *known;
  if (json.contains("reason"))
    found.reason = text(json, "reason");
  found.microseconds = number(json, "us");
  found.defaultMicroseconds = number(json, "default_us");
  found.coldMicroseconds = number(json, "cold_us");
  found.defaultColdMicroseconds = number(json, "default_cold_us");
  if (found.isMeasured() && (found.microseconds <= 0 || found.defaultMicroseconds <= 0))
    throw JsonFault("expected times above 0 of a measured candidate");
  trial.predictedMicroseconds = number(json, "predicted_us");
  const Json &features = member(json, "features");
  trial.features = {floatsFromJson(features, "configuration"), floatsFromJson(features, "loops"),
                    floatsFromJson(features, "steps")};
  return trial;
}

ReadLog readLog(const fs::path &file) {
  std::error_code fault;
  if (!fs::is_regular_file(file, fault))
    throw Error(ErrorKind::Io, file.string() + ": expected the log of a tuning run");
  ReadLog log;
  log.faults =
      readLines(file, [&](const Json &json) { log.trials.push_back(trialFromJson(json)); });
  return log;
}

LogWriter::LogWriter(const fs::path &file, bool resume)
    : path(file),
      descriptor(::open(file.c_str(),
                        O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC | (resume ? 0 : O_TRUNC), 0666)) {
  if (descriptor < 0)
    throw Error(ErrorKind::Io, file.string() + ": cannot write: " + std::strerror(errno));
  off_t size = ::lseek(descriptor, 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(descriptor, &last, 1, size - 1) == 1 && last != '\n')
    write("\n");
}

LogWriter::~LogWriter() { ::close(descriptor); }

void LogWriter::write(const std::string &line) {
  for (size_t written = 0; written < line.size();) {
    ssize_t bytes = ::write(descriptor, line.data() + written, line.size() - written);
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes < 0)
      throw Error(ErrorKind::Io, path.string() + ": cannot write: " + std::strerror(errno));
    written += static_cast<size_t>(bytes);
  }
}

void LogWriter::add(const Trial &trial) {
  write(toJson(trial).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::vector<TunedRecord> bestOf(std::span<const Trial> trials) {
  std::map<std::pair<std::string, std::string>, const Trial *> best;
  for (const Trial &trial : trials) {
    if (!trial.measurement.isMeasured() || trial.measurement.ratio() >= 1)
      continue;
    const Trial *&known = best[{trial.kernel, trial.machine}];
    if (!known || trial.measurement.ratio() < known->measurement.ratio())
      known = &trial;
  }
  std::vector<TunedRecord> records;
  for (const auto &[key, trial] : best)
    records.push_back({trial->kernel, trial->anchor, trial->machine, generatorVersion, trial->name,
                       trial->candidate.schedules, trial->measurement.microseconds,
                       trial->measurement.defaultMicroseconds});
  return records;
}

} // namespace headrace::tune
