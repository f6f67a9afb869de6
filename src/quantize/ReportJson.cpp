#include "quantize/Quantize.h"
#include <cmath>
#include <nlohmann/json.hpp>

namespace headrace::quantize {

using Json = nlohmann::ordered_json;
using Form = OperatorReport::Form;

// Neither NaN nor infinity is JSON.
static Json decibels(double value) {
  if (std::isnan(value))
    return nullptr;
  return std::isinf(value) ? Json("exact") : Json(value);
}

static const char *nameOf(Form form) {
  switch (form) {
  case Form::Integers:
    return "int8";
  case Form::KeepsScale:
    return "kept";
  case Form::Float:
    return "float";
  }
  return "";
}

static Json operatorJson(const OperatorReport &line) {
  Json json;
  json["name"] = line.name;
  json["operators"] = line.kinds;
  json["form"] = nameOf(line.form);
  if (line.form == Form::Float) {
    json["reason"] = line.reason;
    return json;
  }
  json["range"] = {line.least, line.greatest};
  json["input_scales"] = line.inputScales;
  json["weight_scales"] = line.weightScales;
  json["output_scale"] = line.outputScale;
  json["sqnr_db"] = decibels(line.signalToNoise);
  return json;
}

std::string reportJson(const Report &report) {
  Json document;
  document["samples"] = report.samples;
  document["constant_bytes_before"] = report.weightBytesBefore;
  document["constant_bytes_after"] = report.weightBytesAfter;
  document["outputs"] = Json::array();
  for (const OutputReport &output : report.outputs)
    document["outputs"].push_back(
        {{"name", output.name}, {"sqnr_db", decibels(output.signalToNoise)}});
  document["operators"] = Json::array();
  for (const OperatorReport &line : report.operators)
    document["operators"].push_back(operatorJson(line));
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace headrace::quantize
