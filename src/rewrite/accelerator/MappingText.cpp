#include "rewrite/accelerator/MappingText.h"

#include "rewrite/term/TermJson.h"

namespace headrace::rewrite {

std::string toText(const Terms &terms, TermId term) { return termToJson(terms, term).dump(); }

std::string toText(const Terms &terms, const Mapping &mapping) {
  return Json{{"term", termToJson(terms, mapping.term)},
              {"operations", mapping.operations},
              {"left_over", mapping.leftOver}}
      .dump();
}

Mapping mappingFromText(std::string_view given, Terms &terms) {
  Json json = parseJson(given, "a mapping");
  Mapping mapping;
  mapping.term = termFromJson(list(json, "term"), terms);
  for (const auto &[name, count] : member(json, "operations").items())
    mapping.operations[name] = integerOf(count, 0);
  for (const Json &left : list(json, "left_over"))
    mapping.leftOver.push_back(text(left));
  return mapping;
}

} // namespace headrace::rewrite
