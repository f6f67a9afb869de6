#include "target/coarse/FoundMappings.h"

#include "rewrite/accelerator/MappingText.h"
#include "rewrite/rules/ShippedRules.h"
#include "runtime/system/BuildId.h"
#include "runtime/system/FileCache.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Json.h"

#include <mutex>

using namespace mlir;

namespace headrace::coarse {

namespace {

/// Far more than a layer takes; what ends the search is the number of nodes, on any machine alike.
const rewrite::MappingOptions mapping{.limits = {.seconds = 600}, .extraction = {}};

/// A process that compiles many models begins anew.
constexpr size_t maxTerms = 1 << 20;

struct Found {
  rewrite::Vocabulary vocabulary;
  rewrite::Terms terms{vocabulary};
  rewrite::RuleSet rules = rewrite::shippedRules(vocabulary);
  std::map<std::string, Mappings> mappings; // by the text of the machine
};

/// Rules and search are part of the build.
const std::string &compilerBuild() {
  static const char here = 0;
  static const std::string id = buildId(&here, {});
  return id;
}

rewrite::Mapping search(Found &found, rewrite::TermId term, const rewrite::Accelerator &machine,
                        const std::string &description) {
  // Without a build ID nothing can be told apart from what another search found.
  FileCache cache =
      compilerBuild().empty() ? FileCache(std::nullopt, "mapping") : FileCache::user("mapping");
  std::string key =
      FileCache::key({compilerBuild(), description, rewrite::toText(found.terms, term)});
  if (std::optional<std::string> known = cache.find(key))
    try {
      return rewrite::mappingFromText(*known, found.terms);
    } catch (const JsonFault &) { // NOLINT(bugprone-empty-catch): not what was stored
    }
  rewrite::Mapping result = mapToMachine(found.terms, term, machine, found.rules, mapping);
  cache.store(key, rewrite::toText(found.terms, result));
  return result;
}

} // namespace

void withMappedProgram(func::FuncOp entry, const rewrite::Accelerator &machine,
                       const std::string &description,
                       function_ref<void(const MappedProgram &, const rewrite::Terms &)> use) {
  static std::unique_ptr<Found> found;
  static std::mutex mutex;
  CompilerSection section; // no fork while it is locked
  std::lock_guard lock(mutex);
  if (!found || found->terms.size() > maxTerms)
    found = std::make_unique<Found>();
  auto searched = [&](rewrite::TermId term) { return search(*found, term, machine, description); };
  use(mapProgram(entry, found->terms, machine, Unmapped::EndsPiece, searched,
                 found->mappings[description]),
      found->terms);
}

} // namespace headrace::coarse
