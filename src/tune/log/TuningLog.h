// The log of a tuning run: a line of JSON for each trial, from which the run can go on, results can
// be taken over to another machine's store, and models can be trained.
//
//   {"kernel":"9f2c...","anchor":"51ab...","name":"conv1","machine":"AMD EPYC ...","generator":1,
//    "schedules":[...],"status":"measured",
//    "us":12.1,"default_us":14.0,"cold_us":20.1,"default_cold_us":22.9,"predicted_us":11.0,
//    "features":{"configuration":[...],"loops":[...],"steps":[...]}}
#pragma once

#include "tune/measure/Measurer.h"
#include <cstdio>

namespace headrace::tune {

/// A candidate that was tried.
struct Trial {
  std::string kernel, anchor, name, machine;
  Candidate candidate;
  Measurement measurement;
  double predictedMicroseconds = 0;
  Features features;
};

Json toJson(const Trial &trial);
/// Throws JsonFault.
Trial trialFromJson(const Json &json);

struct ReadLog {
  std::vector<Trial> trials;
  /// Lines that are damaged, or of another version of the generator: left out.
  std::vector<std::string> faults;
};
/// Throws Error if the file cannot be read.
ReadLog readLog(const std::filesystem::path &file);

/// Appends trials, each as a whole line that is on disk when the call returns.
class LogWriter {
public:
  /// Continues the file if it exists and `resume` is set: a torn last line is ended first, so that
  /// it stays one damaged line. Throws Error if the file cannot be written.
  LogWriter(const std::filesystem::path &file, bool resume);
  ~LogWriter();
  LogWriter(const LogWriter &) = delete;

  void add(const Trial &trial);

private:
  void write(const std::string &line);

  std::filesystem::path path;
  int descriptor;
};

/// The best measured result of each kernel and machine, if faster than the default.
std::vector<TunedRecord> bestOf(std::span<const Trial> trials);

} // namespace headrace::tune
