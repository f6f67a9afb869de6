// The report on tuning, on standard output.
#pragma once

#include "tune/Tuner.h"
#include "tune/learn/JudgeModel.h"
#include <string>

namespace headrace::cli {

/// "45 s", "3 min".
std::string durationText(double seconds);
void printTuning(const tune::TuneReport &report, const tune::TuneOptions &options, bool asJson);
void printJudgements(const std::vector<tune::Judgement> &judgements, bool asJson);

} // namespace headrace::cli
