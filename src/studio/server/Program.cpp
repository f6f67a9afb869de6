#include "studio/server/Program.h"

#include "runtime/system/Error.h"

#include "studio/server/PackageGraph.h"
#include "studio/server/ViewJson.h"
#include <algorithm>
#include <fstream>
#include <semaphore>

namespace headrace::studio {

namespace fs = std::filesystem;
using Json = Program::Json;

namespace {

constexpr size_t kMaxKnown = 24;
/// So many commands run at a time: each uses all cores.
std::counting_semaphore<> commandSlots(2);

struct Slot {
  Slot() { commandSlots.acquire(); }
  ~Slot() { commandSlots.release(); }
  Slot(const Slot &) = delete;
};

Json parsed(const std::string &text) {
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    throw Error(ErrorKind::InvalidFile, "expected JSON from headrace, got something else");
  return document;
}

std::optional<int64_t> sumOf(const std::optional<int64_t> &total, const Json &amount) {
  if (!total || !amount.is_number_integer())
    return std::nullopt;
  return *total + amount.get<int64_t>();
}

} // namespace

Program::Program(Command &command, ProgramOptions given)
    : command(command), options(std::move(given)) {
  std::string name = (fs::temp_directory_path() / "headrace-studio-XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw Error(ErrorKind::Io, name + ": cannot make this directory");
  folder = name;
}

Program::~Program() {
  std::error_code error;
  fs::remove_all(folder, error);
}

std::string Program::run(std::vector<std::string> words, const std::string &recipe) {
  words.insert(words.begin() + 1, options.model);
  words.insert(words.end(), options.common.begin(), options.common.end());
  fs::path file;
  if (!recipe.empty()) {
    {
      std::lock_guard lock(mutex);
      file = folder / ("step" + std::to_string(++recipes) + ".recipe");
    }
    std::ofstream(file, std::ios::binary) << recipe;
    words.push_back("--recipe=" + file.string());
  }
  CommandResult result;
  {
    Slot slot;
    result = command.run(words);
  }
  std::error_code error;
  if (!file.empty())
    fs::remove(file, error);
  if (result.code != 0) {
    // The file is this session's; a line of it is the user's.
    size_t at = file.empty() ? std::string::npos : result.error.find(file.string());
    if (at != std::string::npos)
      result.error.replace(at, file.string().size(), "recipe");
    throw Error(ErrorKind::InvalidArgument, result.error);
  }
  return std::move(result.output);
}

std::string Program::explained(const std::string &recipe, const std::vector<std::string> &flags) {
  std::string key = recipe;
  for (const std::string &flag : flags)
    key += '\0' + flag;
  std::promise<std::shared_ptr<const std::string>> promise;
  Text text;
  bool isOwn = false;
  {
    std::lock_guard lock(mutex);
    auto found = std::ranges::find(known, key, &std::pair<std::string, Text>::first);
    if (found == known.end()) {
      known.emplace_front(key, promise.get_future().share());
      isOwn = true;
    } else {
      known.splice(known.begin(), known, found);
    }
    text = known.front().second;
    if (known.size() > kMaxKnown)
      known.pop_back();
  }
  if (isOwn) {
    try {
      std::vector<std::string> words = {"explain"};
      words.insert(words.end(), flags.begin(), flags.end());
      promise.set_value(std::make_shared<const std::string>(run(std::move(words), recipe)));
    } catch (...) {
      promise.set_exception(std::current_exception());
      std::lock_guard lock(mutex); // a failure may be of the moment: cancelled, out of memory
      std::erase_if(known, [&](const auto &entry) { return entry.first == key; });
    }
  }
  return *text.get();
}

const Program::First &Program::first() {
  std::call_once(hasFirst, [this] {
    Graph graph = readGraph(document("", "import", false));
    Groups groups(graph);
    Places places = placesOf(layOutProgram(graph, groups), graph);
    firstPhase = std::make_unique<First>(First{std::move(groups), std::move(places)});
  });
  return *firstPhase;
}

Json Program::document(const std::string &recipe, const std::string &phase, bool withCode) {
  if (isPackage())
    return graphOfKernels(parsed(explained(recipe, {"--json"})));
  std::vector<std::string> flags = {"--to=" + phase, "--json"};
  if (withCode)
    flags.push_back("--code");
  return parsed(explained(recipe, flags));
}

Json Program::view(const std::string &recipe, const std::string &phase, bool withCode) {
  const First &known = first();
  Json found = document(recipe, phase, withCode);
  Graph graph = readGraph(found);
  return viewOf(found, layOutProgram(graph, known.groups, known.places));
}

ProgramSummary Program::summary(const std::string &recipe) {
  Json plan = document(recipe, "schedule", false);
  ProgramSummary summary{0, 0, 0, 0};
  for (const Json &node : plan["nodes"]) {
    if (!node["predicted_us"].is_number()) // a view, an input, an output or a constant
      continue;
    ++summary.kernels;
    summary.bytes = sumOf(sumOf(summary.bytes, node["bytes_read"]), node["bytes_written"]);
    summary.operations = sumOf(summary.operations, node["operations"]);
    summary.microseconds += node["predicted_us"].get<double>();
  }
  return summary;
}

std::vector<Json> Program::measured(const std::vector<std::string> &recipes, double secondsEach) {
  constexpr int kTurns = 3;
  std::vector<std::vector<Json>> turns(recipes.size());
  for (int turn = 0; turn < kTurns; ++turn)
    for (size_t r = 0; r < recipes.size(); ++r)
      turns[r].push_back(parsed(
          run({"bench", "--json", "--profile", "--seconds=" + std::to_string(secondsEach / kTurns)},
              recipes[r])));
  std::vector<Json> results;
  for (std::vector<Json> &each : turns) {
    std::ranges::sort(each, {}, [](const Json &result) {
      return result["systems"][0]["median_us"].get<double>();
    });
    results.push_back(each[each.size() / 2]);
  }
  return results;
}

Json Program::machine() {
  std::vector<std::string> words = {"machine", "--json"};
  for (size_t i = 0; i + 1 < options.common.size(); ++i)
    if (options.common[i] == "--target")
      words.push_back("--target=" + options.common[i + 1]);
  Slot slot;
  CommandResult result = command.run(words);
  if (result.code != 0)
    throw Error(ErrorKind::InvalidArgument, result.error);
  return parsed(result.output);
}

bool Program::isPackage() const { return fs::path(options.model).extension() == ".hrpkg"; }

Json Program::gradient(std::optional<int64_t> budget) {
  std::vector<std::string> flags = {"--grad", "--weights", "--json"};
  if (budget)
    flags.push_back("--memory-budget=" + std::to_string(*budget));
  Json whole = parsed(explained("", flags));
  Json result = {{"kept_bytes", whole["kept_bytes"]},
                 {"kept", whole["kept"]},
                 {"computed_again", whole["computed_again"]}};
  for (const char *part : {"forward", "backward"}) {
    double microseconds = 0;
    for (const Json &kernel : whole[part]["kernels"])
      if (kernel["predicted_us"].is_number())
        microseconds += kernel["predicted_us"].get<double>();
    result[part] = {{"totals", whole[part]["after"]},
                    {"peak_bytes", whole[part]["peak_bytes"]},
                    {"predicted_us", microseconds}};
  }
  return result;
}

Json Program::phases() {
  if (isPackage())
    return Json::array(
        {{{"name", "schedule"},
          {"summary", "the kernels of the package, which were compiled ahead of time"}}});
  std::vector<std::string> words = {"explain", "--phases", "--json"};
  for (size_t i = 0; i + 1 < options.common.size(); ++i)
    if (options.common[i] == "--target")
      words.push_back("--target=" + options.common[i + 1]);
  CommandResult result = command.run(words);
  if (result.code != 0)
    throw Error(ErrorKind::InvalidArgument, result.error);
  return parsed(result.output);
}

std::string Program::shell(const std::vector<std::string> &words) const {
  std::vector<std::string> all = {"headrace", words.front(), options.model};
  all.insert(all.end(), words.begin() + 1, words.end());
  all.insert(all.end(), options.common.begin(), options.common.end());
  return shellText(all);
}

} // namespace headrace::studio
