#include "target/coarse/FoundMappings.h"

#include "rewrite/rules/ShippedRules.h"
#include "runtime/system/ForkSafety.h"

#include <mutex>

using namespace mlir;

namespace headrace::coarse {

namespace {

/// Far more than a layer takes; what ends the search is the number of nodes, on any machine alike.
const rewrite::MappingOptions mapping{.limits = {.seconds = 600}, .extraction = {}};

/// A process that compiles many models begins anew.
constexpr size_t mostTerms = 1 << 20;

struct Found {
  rewrite::Vocabulary vocabulary;
  rewrite::Terms terms{vocabulary};
  rewrite::RuleSet rules = rewrite::shippedRules(vocabulary);
  std::map<std::string, Mappings> mappings; // by the text of the machine
};

} // namespace

void withMappedProgram(func::FuncOp entry, const rewrite::Accelerator &machine,
                       const std::string &description,
                       function_ref<void(const MappedProgram &, const rewrite::Terms &)> use) {
  static std::unique_ptr<Found> found;
  static std::mutex mutex;
  CompilerSection section; // no fork while it is locked
  std::lock_guard lock(mutex);
  if (!found || found->terms.size() > mostTerms)
    found = std::make_unique<Found>();
  use(mapProgram(entry, found->terms, machine, found->rules, Unmapped::EndsPiece, mapping,
                 found->mappings[description]),
      found->terms);
}

} // namespace headrace::coarse
