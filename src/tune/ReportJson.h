// Reports of tuning as JSON, for the command line and Python.
#pragma once

#include "tune/Tuner.h"
#include "tune/learn/JudgeModel.h"
#include <nlohmann/json.hpp>

namespace headrace::tune {

nlohmann::ordered_json json(const TuneReport &report, const TuneOptions &options);
nlohmann::ordered_json json(const std::vector<Judgement> &judgements);

} // namespace headrace::tune
