#include "rewrite/engine/Code.h"

#include "rewrite/term/TermJson.h"

#include <cmath>
#include <limits>

namespace headrace::rewrite {

namespace {

constexpr size_t maxSymbols = 64;
constexpr const char *what = "code of accelerator operators";
constexpr double infinity = std::numeric_limits<double>::infinity();

/// JSON has no infinity: as text.
Json numberJson(double number) {
  return std::isfinite(number) ? Json(number) : Json(std::to_string(number));
}

double numberFrom(const Json &json) {
  if (json.is_number())
    return json.get<double>();
  if (json == "inf" || json == "-inf")
    return json == "inf" ? infinity : -infinity;
  if (json == "nan" || json == "-nan")
    return std::numeric_limits<double>::quiet_NaN();
  throw JsonFault("expected a number as 'number'");
}

} // namespace

std::string toText(const CoarseCode &code, const Terms &terms) {
  Json inputs = Json::array();
  for (const CoarseInput &input : code.inputs) {
    Json &json = inputs.emplace_back(Json{{"name", input.name}, {"shape", input.shape}});
    if (input.number)
      json["number"] = numberJson(*input.number);
    else
      json["leads"] = input.leads;
  }
  return Json{{"machine", Json::parse(code.machine)},
              {"batch", code.batch.str({})},
              {"inputs", std::move(inputs)},
              {"term", termToJson(terms, code.term)}}
      .dump();
}

CoarseCode fromText(std::string_view given, Terms &terms) {
  Json json = parseJson(given, what);
  CoarseCode code;
  code.machine = member(json, "machine").dump();
  code.batch = DimExpr::parse(text(json, "batch"), maxSymbols);
  for (const Json &item : list(json, "inputs")) {
    CoarseInput &input = code.inputs.emplace_back();
    input.name = text(item, "name");
    for (const Json &size : list(item, "shape"))
      input.shape.push_back(integerOf(size, 0, maxElements));
    if (auto number = item.find("number"); number != item.end())
      input.number = numberFrom(*number);
    else
      input.leads = member(item, "leads") == true;
  }
  code.term = termFromJson(list(json, "term"), terms);
  return code;
}

} // namespace headrace::rewrite
