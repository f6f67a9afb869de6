// Any text as a script: lexed, parsed, analyzed.
#include "script/language/Analysis.h"
#include "script/language/Parser.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    auto source = std::make_shared<script::Source>(
        "fuzz.dml", std::string(reinterpret_cast<const char *>(data), size));
    script::AnalysisOptions options;
    options.keepAll = options.allFunctions = true;
    options.inputs["X"] = script::Type::matrix();
    options.parameters["x"] = "1";
    // Nothing is read from the disk.
    options.files = std::make_shared<const script::ScriptFiles>();
    script::analyze(script::parse(source), options);
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): what most inputs end in
  }
  return 0;
}
