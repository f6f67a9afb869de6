#include "verify/Report.h"
#include <cmath>
#include <nlohmann/json.hpp>

namespace headrace::verify {

using Json = nlohmann::ordered_json;

// Neither NaN nor infinity is JSON.
static Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

static Json judgementJson(const Judgement &judgement) {
  Json json;
  json["holds"] = judgement.holds;
  json["fault"] = judgement.fault;
  json["elements"] = judgement.elements;
  json["scale"] = number(judgement.scale);
  json["error"] = number(judgement.error);
  json["float32_error"] = number(judgement.rounded);
  json["allowed"] = number(judgement.allowed);
  json["steep"] = judgement.steep;
  json["place"] = judgement.place;
  json["found"] = number(judgement.found);
  json["expected"] = number(judgement.exact);
  return json;
}

static Json outputsJson(const std::vector<ComparedValue> &outputs) {
  Json list = Json::array();
  for (const ComparedValue &output : outputs) {
    Json json = judgementJson(output.judgement);
    json["name"] = output.name;
    list.push_back(std::move(json));
  }
  return list;
}

static Json wrongJson(const WrongStep &wrong) {
  Json json = judgementJson(wrong.judgement);
  json["step"] = wrong.step;
  json["kernel"] = wrong.kernel;
  json["operators"] = wrong.operators;
  json["node"] = wrong.node;
  return json;
}

static Json caseJson(const CaseReport &each) {
  Json json;
  json["values"] = each.values;
  json["sizes"] = Json::object();
  for (const auto &[name, size] : each.sizes)
    json["sizes"][name] = size;
  json["holds"] = each.holds();
  json["refused"] = each.refused;
  json["outputs"] = outputsJson(each.outputs);
  json["steps_compared"] = each.stepsCompared;
  json["steps_left_out"] = each.stepsLeftOut;
  json["why_no_steps"] = each.whyNoSteps;
  json["first_wrong"] = each.firstWrong ? wrongJson(*each.firstWrong) : Json(nullptr);
  json["first_pass"] = each.isBisected ? Json(each.firstPass) : Json(nullptr);
  json["right_with"] = each.rightWith;
  json["note"] = each.note;
  json["others"] = Json::array();
  for (const OtherSystem &other : each.others)
    json["others"].push_back({{"name", other.name},
                              {"version", other.version},
                              {"missing", other.missing},
                              {"outputs", outputsJson(other.outputs)}});
  return json;
}

std::string jsonText(const Report &report) {
  Json json;
  json["model"] = report.model;
  json["package"] = report.package;
  json["holds"] = report.holds();
  json["cases"] = Json::array();
  for (const CaseReport &each : report.cases)
    json["cases"].push_back(caseJson(each));
  json["saved"] = report.saved;
  json["saved_nodes"] = report.savedNodes;
  json["not_saved"] = report.notSaved;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace headrace::verify
