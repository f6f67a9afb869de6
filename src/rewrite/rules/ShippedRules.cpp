#include "rewrite/rules/ShippedRules.h"

#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/tensor/TensorLanguage.h"

namespace headrace::rewrite {

RuleSet shippedRules(Vocabulary &vocabulary) {
  TensorLanguage language(allOperators());
  RuleSet rules;
  auto add = [&](const char *name, std::string text) {
    parseRules(rules, std::make_shared<Source>(name, std::move(text)), vocabulary, &language);
  };
  add("language.rules", languageRulesText());
  add("algorithm.rules", algorithmRulesText());
  add("hardware.rules", hardwareRulesText());
  return rules;
}

} // namespace headrace::rewrite
