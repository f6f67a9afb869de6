#include "tune/measure/Measurer.h"

#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"

#include "tune/measure/WorkerProcess.h"
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

namespace headrace::tune {

namespace fs = std::filesystem;

static constexpr std::array<std::pair<Measurement::Status, std::string_view>, 5> kStatusNames = {{
    {Measurement::Status::Measured, "measured"},
    {Measurement::Status::Crashed, "crashed"},
    {Measurement::Status::TimedOut, "timed out"},
    {Measurement::Status::Wrong, "wrong"},
    {Measurement::Status::NotCompiled, "not compiled"},
}};

std::string_view nameOf(Measurement::Status status) {
  for (const auto &[each, name] : kStatusNames)
    if (each == status)
      return name;
  return "";
}

std::optional<Measurement::Status> statusNamed(std::string_view name) {
  for (const auto &[status, each] : kStatusNames)
    if (each == name)
      return status;
  return std::nullopt;
}

double Measurement::ratio() const {
  double warm = microseconds / defaultMicroseconds;
  bool hasCold = coldMicroseconds > 0 && defaultColdMicroseconds > 0;
  return hasCold ? std::sqrt(warm * coldMicroseconds / defaultColdMicroseconds) : warm;
}

namespace {

/// A directory for the packages of candidates, gone with this object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "headrace-tune-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      throw Error(ErrorKind::Io, name + ": cannot make a directory");
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;

  fs::path path;
};

class ProcessMeasurer final : public Measurer {
public:
  explicit ProcessMeasurer(const MeasureOptions &options)
      : options(options), worker(workerProgram()) {}

  std::vector<Measurement> measure(KernelTask &task, std::span<const Candidate> batch) override {
    fs::path reference = referenceOf(task);
    std::vector<Measurement> result;
    for (const Candidate &candidate : batch) {
      pollInterruption();
      result.push_back(measureOne(task, candidate, reference));
    }
    return result;
  }

private:
  fs::path referenceOf(KernelTask &task) {
    fs::path &path = references[task.fingerprint()];
    if (path.empty()) {
      path = folder.path / (task.fingerprint() + ".hrpkg");
      task.writePackage(task.proposed(), path);
    }
    return path;
  }

  Measurement measureOne(KernelTask &task, const Candidate &candidate, const fs::path &reference) {
    Measurement result;
    fs::path package = folder.path / "candidate.hrpkg";
    try {
      task.writePackage(candidate, package);
    } catch (const std::exception &error) {
      result.reason = error.what();
      return result;
    }
    WorkerProcess::Answer answer = worker.ask({{"package", package.string()},
                                               {"reference", reference.string()},
                                               {"seed", options.seed},
                                               {"seconds", options.seconds}},
                                              options.limit);
    switch (answer.kind) {
    case WorkerProcess::Answer::Kind::TimedOut:
      result.status = Measurement::Status::TimedOut;
      result.reason = "no answer within " + std::to_string(static_cast<int>(options.limit)) + " s";
      return result;
    case WorkerProcess::Answer::Kind::Died:
      result.status = Measurement::Status::Crashed;
      result.reason = answer.reason;
      return result;
    case WorkerProcess::Answer::Kind::Answered:
      break;
    }
    return read(answer.json);
  }

  static Measurement read(const Json &json) {
    Measurement result;
    auto number = [&](const char *name) {
      return json.contains(name) && json[name].is_number() ? json[name].get<double>() : 0.0;
    };
    if (json.contains("wrong") || json.contains("failed")) {
      bool isWrong = json.contains("wrong");
      result.status = isWrong ? Measurement::Status::Wrong : Measurement::Status::Crashed;
      result.reason = json.value(isWrong ? "wrong" : "failed", "");
      return result;
    }
    result.microseconds = number("us");
    result.coldMicroseconds = number("cold_us");
    result.defaultMicroseconds = number("default_us");
    result.defaultColdMicroseconds = number("default_cold_us");
    bool isTime = result.microseconds > 0 && result.defaultMicroseconds > 0;
    result.status = isTime ? Measurement::Status::Measured : Measurement::Status::Crashed;
    if (!isTime)
      result.reason = "the answer has no times";
    return result;
  }

  MeasureOptions options;
  TemporaryFolder folder;
  WorkerProcess worker;
  std::map<std::string, fs::path> references;
};

class CountingMeasurer final : public Measurer {
public:
  std::vector<Measurement> measure(KernelTask &task, std::span<const Candidate> batch) override {
    std::optional<double> own = task.countedMicroseconds(task.proposed());
    if (!own)
      throw Error(ErrorKind::Unsupported, "kernel '" + task.name() + "': no simulator counts it");
    std::vector<Measurement> result;
    for (const Candidate &candidate : batch) {
      pollInterruption();
      Measurement &each = result.emplace_back();
      try {
        if (std::optional<double> counted = task.countedMicroseconds(candidate)) {
          each.status = Measurement::Status::Measured;
          each.microseconds = *counted;
          each.defaultMicroseconds = *own;
        } else {
          each.reason = "the candidate is more than one kernel";
        }
      } catch (const Error &error) {
        each.reason = error.what();
      }
    }
    return result;
  }
};

} // namespace

std::unique_ptr<Measurer> measureInProcess(const MeasureOptions &options) {
  return std::make_unique<ProcessMeasurer>(options);
}

std::unique_ptr<Measurer> countBySimulator() { return std::make_unique<CountingMeasurer>(); }

} // namespace headrace::tune
