// headrace rewrite: terms of tensors mapped to the operators of an accelerator; rules checked.
#include "driver/programs/ModelTerms.h"
#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/accelerator/Mapping.h"
#include "rewrite/derivation/Replay.h"
#include "rewrite/rules/ShippedRules.h"
#include "rewrite/tensor/CheckRules.h"
#include "rewrite/tensor/TensorLanguage.h"
#include "runtime/system/Error.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "report/Text.h"
#include "tensors/Sizes.h"
#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

namespace {

using namespace headrace::rewrite;

struct RewriteOptions {
  std::string term, accelerator;
  std::vector<std::string> rules, sizes;
  bool check = false, json = false, replay = false, trust = false;
  CheckOptions checking;
  SaturationLimits limits;
};

// An error in a file of rules or terms shows its place in lines of its own.
template <typename Read> auto withPlaces(Read read) {
  try {
    return read();
  } catch (const Error &error) {
    if (error.kind() == ErrorKind::InvalidFile)
      throw ScriptError(error.what());
    throw;
  }
}

void addRules(RuleSet &rules, const std::vector<std::string> &files, Vocabulary &vocabulary) {
  TensorLanguage language(allOperators());
  for (const std::string &file : files)
    withPlaces([&] { parseRules(rules, Source::read(file), vocabulary, &language); });
}

/// Throws Error if a rule fails, with the counter-examples on `stream`; `advice` ends the message.
RuleCheck requireSound(const RuleSet &rules, Vocabulary &vocabulary, const CheckOptions &checking,
                       std::FILE *stream, std::string_view advice) {
  RuleCheck result = checkRules(rules, allOperators(), vocabulary, checking);
  for (const RuleFault &fault : result.faults)
    fmt::print(stream, "{}: rule '{}': {}\n", fault.rule->place.text(), fault.rule->name,
               fault.reason);
  if (!result.faults.empty())
    throw Error(ErrorKind::InvalidFile,
                fmt::format("{} of {} rules failed{}", result.faults.size(), result.rules, advice));
  return result;
}

int check(const RewriteOptions &options) {
  Vocabulary vocabulary;
  RuleSet rules;
  if (options.rules.empty())
    rules = shippedRules(vocabulary);
  addRules(rules, options.rules, vocabulary);
  RuleCheck result = requireSound(rules, vocabulary, options.checking, stdout, "");
  fmt::print("{} rules hold on {} random examples\n", result.rules, result.trials);
  return 0;
}

/// The shipped rules and the user's, which are tested before they are used.
RuleSet rulesOf(const RewriteOptions &options, Vocabulary &vocabulary) {
  RuleSet rules = shippedRules(vocabulary), own;
  addRules(own, options.rules, vocabulary);
  if (!options.trust && !options.rules.empty())
    requireSound(own, vocabulary, options.checking, stderr,
                 "; --trust-rules takes them all the same");
  addRules(rules, options.rules, vocabulary);
  return rules;
}

double usefulPercent(const Mapping &mapping) {
  return mapping.doneProducts == 0 ? 100
                                   : 100.0 * static_cast<double>(mapping.usefulProducts) /
                                         static_cast<double>(mapping.doneProducts);
}

double percentAboveLeast(const Mapping &mapping) {
  return 100 * (mapping.cost / mapping.minCost - 1);
}

void printDerivation(const Mapping &mapping, const Terms &terms) {
  TermShapes shapes(terms, allOperators());
  fmt::print("derivation, {} steps\n", mapping.derivation.size());
  for (size_t i = 0; i < mapping.derivation.size(); ++i) {
    const DerivationStep &step = mapping.derivation[i];
    fmt::print("{:>5} {:<32} {}\n", i + 1,
               step.rule.name(terms.vocabulary()) + (step.backwards ? ", backwards" : ""),
               textOf(step, terms, shapes));
  }
  if (mapping.replayError)
    fmt::print("replayed: every step follows by its rule, and values agree within {:.1e}\n",
               *mapping.replayError);
}

nlohmann::ordered_json derivationJson(const Mapping &mapping, const Terms &terms) {
  TermShapes shapes(terms, allOperators());
  auto steps = nlohmann::ordered_json::array();
  for (const DerivationStep &step : mapping.derivation)
    steps.push_back({{"rule", step.rule.name(terms.vocabulary())},
                     {"level", nameOf(step.rule.rule->level)},
                     {"backwards", step.backwards},
                     {"change", textOf(step, terms, shapes)}});
  return steps;
}

void printReport(const Mapping &mapping, const Terms &terms) {
  fmt::print("{}\n", printLines(terms, mapping.term));
  for (const auto &[name, count] : mapping.operations)
    fmt::print("{:<20} {}\n", name, count);
  fmt::print("{:<20} {:.1f}%\n", "useful multiplications", usefulPercent(mapping));
  fmt::print("{:<20} {} loaded, {} stored, {} to the output\n", "bytes", mapping.loadedBytes,
             mapping.storedBytes, mapping.outputBytes);
  bool isBounded = mapping.method != ExtractionMethod::Exact && mapping.minCost > 0;
  fmt::print("{:<20} {:.2f}{}, extraction {}{}\n", "cost", mapping.cost,
             mapping.leftOver.empty() ? "" : " without unmapped operators", nameOf(mapping.method),
             isBounded
                 ? fmt::format(", at most {:.1f}% above the least", percentAboveLeast(mapping))
                 : "");
  fmt::print("{:<20} {} nodes in {} classes after {} iterations: {}\n", "search", mapping.nodes,
             mapping.classes, mapping.saturation.iterations, textOf(mapping.saturation.reason));
  for (const std::string &left : mapping.leftOver)
    fmt::print("{:<20} {}\n", "left over", left);
  printDerivation(mapping, terms);
}

nlohmann::ordered_json toJson(const Mapping &mapping, const Terms &terms) {
  nlohmann::ordered_json json = {{"term", printLines(terms, mapping.term)},
                                 {"operations", mapping.operations},
                                 {"useful_products", mapping.usefulProducts},
                                 {"done_products", mapping.doneProducts},
                                 {"bytes",
                                  {{"loaded", mapping.loadedBytes},
                                   {"stored", mapping.storedBytes},
                                   {"output", mapping.outputBytes}}},
                                 {"cost", mapping.cost},
                                 {"least_cost", mapping.minCost},
                                 {"extraction", nameOf(mapping.method)},
                                 {"search",
                                  {{"nodes", mapping.nodes},
                                   {"classes", mapping.classes},
                                   {"iterations", mapping.saturation.iterations},
                                   {"end", textOf(mapping.saturation.reason)}}},
                                 {"left_over", mapping.leftOver}};
  nlohmann::ordered_json uses = nlohmann::ordered_json::object();
  for (const Saturation::Use &use : mapping.saturation.uses)
    if (use.merges > 0)
      uses[use.rule] = use.merges;
  json["rules"] = std::move(uses);
  json["derivation"] = derivationJson(mapping, terms);
  if (mapping.replayError)
    json["replay_error"] = *mapping.replayError;
  return json;
}

bool isModel(const std::filesystem::path &path) {
  return path.extension() == ".onnx" || path.extension() == ".hrpkg";
}

void printReport(const ModelMapping &model, const Terms &terms) {
  for (const ModelMapping::Piece &piece : model.pieces) {
    fmt::print("{}: {} operators\n", piece.name, piece.operators.size());
    printReport(piece.mapping, terms);
    fmt::print("\n");
  }
  for (const ModelMapping::LeftOver &left : model.leftOver)
    fmt::print("{:<20} {}: {}\n", "left over", left.name, left.reason);
}

nlohmann::ordered_json toJson(const ModelMapping &model, const Terms &terms) {
  nlohmann::ordered_json json = {{"pieces", nlohmann::ordered_json::array()},
                                 {"left_over", nlohmann::ordered_json::array()}};
  for (const ModelMapping::Piece &piece : model.pieces) {
    nlohmann::ordered_json item = {{"name", piece.name}, {"operators", piece.operators}};
    item.update(toJson(piece.mapping, terms));
    json["pieces"].push_back(std::move(item));
  }
  for (const ModelMapping::LeftOver &left : model.leftOver)
    json["left_over"].push_back({{"name", left.name}, {"reason", left.reason}});
  return json;
}

int map(const RewriteOptions &options) {
  Accelerator machine = Accelerator::read(options.accelerator);
  Vocabulary vocabulary;
  Terms terms(vocabulary);
  RuleSet rules = rulesOf(options, vocabulary);
  auto report = [&](const auto &found) {
    if (options.json)
      fmt::print("{}\n", toJson(found, terms).dump(2));
    else
      printReport(found, terms);
    return 0;
  };
  MappingOptions mapping{options.limits, {}, true};
  if (isModel(options.term)) {
    auto sizes = [&](const std::vector<std::string> &symbols) {
      return parseSizes(options.sizes, symbols);
    };
    ModelMapping model = mapModel(options.term, sizes, terms, machine, rules, mapping);
    for (ModelMapping::Piece &piece : model.pieces)
      if (options.replay)
        replay(terms, piece.mapping, machine, options.checking.seed);
    return report(model);
  }
  // Names of tensors are the user's: shapes are checked below, with the rest.
  TermId term = withPlaces([&] { return parseTerm(Source::read(options.term), terms, nullptr); });
  Mapping found = mapToMachine(terms, term, machine, rules, mapping);
  if (options.replay)
    replay(terms, found, machine, options.checking.seed);
  return report(found);
}

int rewriteTerm(const RewriteOptions &options) {
  if (options.check) {
    if (!options.term.empty() && options.rules.empty()) {
      RewriteOptions files = options; // --check-rules FILE
      files.rules = {options.term};
      return check(files);
    }
    return check(options);
  }
  if (options.term.empty() || options.accelerator.empty())
    throw UsageError(
        "expected a model or a file with a term, and --accelerator FILE, or --check-rules");
  return map(options);
}

} // namespace

void addRewriteCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<RewriteOptions>();
  CLI::App *command =
      app.add_subcommand("rewrite", "Map a model to the operators of an accelerator; check rules");
  command
      ->add_option("FILE", options->term,
                   "An ONNX file, or a term, such as map[relu](dense(tensor[w, 8, 4], tensor[x, "
                   "4], tensor[b, 8])); "
                   "with --check-rules a file of rules")
      ->type_name("");
  command->add_option("--accelerator", options->accelerator, "The machine, a JSON file")
      ->type_name("FILE");
  command->add_option("--rules", options->rules, "More rules (repeatable), which are tested first")
      ->type_name("FILE")
      ->allow_extra_args(false);
  addSizeOption(*command, options->sizes);
  command->add_flag("--check-rules", options->check,
                    "Test the rules of FILE, else those shipped, on random data");
  command->add_flag("--trust-rules", options->trust, "Apply the rules of --rules untested");
  command->add_option("--seed", options->checking.seed, "Seed of the random data")
      ->type_name("N")
      ->check(inRange<uint64_t>(0));
  command
      ->add_option("--max-nodes", options->limits.nodes,
                   "Maximum size of the e-graph; then the search ends with the best term found")
      ->type_name("N")
      ->check(inRange<size_t>(0))
      ->capture_default_str();
  command
      ->add_option("--max-seconds", options->limits.seconds,
                   "Time limit in seconds; then the search ends with the best term found")
      ->type_name("N")
      ->check(inRange(0.0))
      ->capture_default_str();
  command->add_flag("--replay", options->replay,
                    "Apply the derivation step by step, each checked on random data");
  command->add_flag("--json", options->json, "Report as JSON");
  command->footer(
      "Examples:\n"
      "  headrace rewrite lenet.onnx --accelerator examples/accelerators/vector-64.json\n"
      "  headrace rewrite layer.term --accelerator examples/accelerators/vector-64.json\n"
      "  headrace rewrite --check-rules my.rules --seed 1");
  command->callback([options, &action] { action = [options] { return rewriteTerm(*options); }; });
}

} // namespace headrace::cli
