#include "studio/server/Session.h"

#include "runtime/system/Error.h"

#include "studio/server/RecipeFile.h"
#include "studio/server/Steps.h"
#include "studio/server/ViewJson.h"
#include <algorithm>
#include <cstdlib>

namespace headrace::studio {

using Json = Program::Json;

namespace {

constexpr size_t kMaxHistory = 1000, kMaxRecipe = 1 << 20;
/// In a page without a server, the code of larger programs is left out.
constexpr size_t kMaxNodesWithCode = 2000;

/// An answer of the server that is not the user's mistake with the compiler.
struct RequestError {
  int status;
  std::string message;
};

Json summaryJson(const ProgramSummary &summary) {
  return {{"kernels", summary.kernels},
          {"bytes", summary.bytes ? Json(*summary.bytes) : Json()},
          {"operations", summary.operations ? Json(*summary.operations) : Json()},
          {"predicted_us", summary.microseconds}};
}

std::string textOf(const Json &body, const char *key) {
  auto found = body.find(key);
  if (found == body.end() || !found->is_string())
    throw RequestError{400, std::string("expected a text ") + key};
  std::string text = *found;
  if (text.size() > kMaxRecipe)
    throw RequestError{413, std::string("expected a shorter text ") + key};
  return text;
}

PageAnswer failure(int status, const std::string &message) {
  return {status, "application/json", inertText({{"error", message}})};
}

} // namespace

Session::Session(Program &program, const std::string &recipe) : program(program) {
  history.push_back({recipe.empty() ? "the compiler's choices" : "the given recipe", recipe});
}

PageAnswer Session::answer(const PageRequest &request) {
  try {
    if (!request.isPost)
      return {200, "application/json", inertText(get(request.path, request.query))};
    Json body = Json::parse(request.body, nullptr, /*allow_exceptions=*/false);
    if (!body.is_object())
      throw RequestError{400, "expected an object as JSON"};
    return {200, "application/json", inertText(post(request.path, body))};
  } catch (const RequestError &error) {
    return failure(error.status, error.message);
  } catch (const Error &error) { // what the compiler says of the model or the recipe
    return failure(422, error.what());
  } catch (const std::exception &error) {
    return failure(500, error.what());
  }
}

Json Session::get(const std::string &path, const std::string &query) {
  if (path == "api/state")
    return state();
  if (path == "api/graph")
    return graph(recipeOf(query), queryValue(query, "phase"));
  if (path == "api/report")
    return Json::parse(program.explained(recipeOf(query), {"--json"}));
  if (path == "api/code")
    return {{"code", program.explained(recipeOf(query), {"--to=" + queryValue(query, "phase"),
                                                         "--code=" + queryValue(query, "node")})}};
  if (path == "api/machine")
    return program.machine();
  if (path == "api/gradient") {
    std::string budget = queryValue(query, "budget");
    if (budget.find_first_not_of("0123456789") != std::string::npos || budget.size() > 18)
      throw RequestError{400, "expected a number of bytes, got the budget " + budget};
    return program.gradient(budget.empty() ? std::nullopt
                                           : std::optional<int64_t>(std::stoll(budget)));
  }
  throw RequestError{404, "nothing is at " + path};
}

Json Session::post(const std::string &path, const Json &body) {
  if (path == "api/apply")
    return apply(body);
  if (path == "api/preview")
    return preview(body);
  if (path == "api/measure")
    return measure(body);
  if (path == "api/goto") {
    auto entry = body.find("entry");
    if (entry == body.end() || !entry->is_number_integer())
      throw RequestError{400, "expected the number of an entry"};
    return moveTo(*entry);
  }
  throw RequestError{404, "nothing is at " + path};
}

Json Session::state() {
  std::call_once(hasPhases, [this] { phases = program.phases(); });
  std::vector<std::string> words = {program.settings().model};
  words.insert(words.end(), program.settings().common.begin(), program.settings().common.end());
  std::lock_guard lock(mutex);
  Json entries = Json::array();
  for (const HistoryEntry &entry : history)
    entries.push_back({{"step", entry.step}, {"recipe", entry.recipe}});
  return {{"model", std::filesystem::path(program.settings().model).filename().string()},
          {"command", program.shell({"explain"})},
          {"heading", recipeHeading(words)},
          {"package", program.isPackage()},
          {"phases", phases},
          {"revision", revision},
          {"current", current},
          {"entries", entries}};
}

/// The recipe of `entry`, or of the current one; with `step`, as it would be then. The entry "auto"
/// leaves every choice to the compiler.
std::string Session::recipeOf(const std::string &query) {
  std::string entry = queryValue(query, "entry"), step = queryValue(query, "step");
  if (entry == "auto")
    return "";
  std::lock_guard lock(mutex);
  size_t number = entry.empty() ? current : std::strtoul(entry.c_str(), nullptr, 10);
  if (number >= history.size())
    throw RequestError{404, "the history has no entry " + entry};
  const std::string &recipe = history[number].recipe;
  return step.empty() ? recipe : withStep(recipe, step);
}

Json Session::graph(const std::string &recipe, const std::string &phase) {
  return program.view(recipe, phase);
}

Json Session::apply(const Json &body) {
  bool isStep = body.contains("step");
  std::string step = isStep ? textOf(body, "step") : "edit of the recipe";
  std::lock_guard onTurn(turn);
  std::string recipe;
  {
    std::lock_guard lock(mutex);
    recipe = isStep ? withStep(history[current].recipe, step) : textOf(body, "recipe");
    // A step adds to whatever stands now; a whole text would undo what another page did.
    if (!isStep && body.value("revision", int64_t{0}) != revision)
      throw RequestError{409, "another page changed the recipe meanwhile; reload it first"};
  }
  ProgramSummary summary = program.summary(recipe); // throws if the compiler refuses it
  {
    std::lock_guard lock(mutex);
    history.resize(current + 1);
    if (history.size() >= kMaxHistory)
      history.erase(history.begin() + 1);
    history.push_back({step, recipe});
    current = history.size() - 1;
    ++revision;
  }
  return {{"summary", summaryJson(summary)}};
}

Json Session::preview(const Json &body) {
  std::string step = textOf(body, "step"), recipe;
  {
    std::lock_guard lock(mutex);
    recipe = history[current].recipe;
  }
  return {{"before", summaryJson(program.summary(recipe))},
          {"after", summaryJson(program.summary(withStep(recipe, step)))}};
}

Json Session::moveTo(int64_t entry) {
  std::lock_guard onTurn(turn);
  std::lock_guard lock(mutex);
  if (entry < 0 || entry >= static_cast<int64_t>(history.size()))
    throw RequestError{404, "the history has no entry " + std::to_string(entry)};
  current = static_cast<size_t>(entry);
  ++revision;
  return {{"current", current}};
}

Json Session::measure(const Json &body) {
  auto entries = body.find("entries");
  if (entries == body.end() || !entries->is_array() || entries->empty() || entries->size() > 4)
    throw RequestError{400, "expected one to four entries"};
  std::vector<std::string> recipes;
  {
    std::lock_guard lock(mutex);
    for (const Json &entry : *entries) {
      if (!entry.is_number_unsigned() || entry.get<size_t>() >= history.size())
        throw RequestError{404, "the history has no such entry"};
      recipes.push_back(history[entry.get<size_t>()].recipe);
    }
  }
  return {
      {"results", program.measured(recipes, std::clamp(body.value("seconds", 1.5), 0.1, 60.0))}};
}

Json Session::exported() {
  const std::string recipe = history[current].recipe;
  Json result = {{"state", state()}};
  Json graphs = Json::object();
  for (const Json &phase : phases) {
    const std::string name = phase["name"];
    Json plain = program.view(recipe, name);
    graphs[name] = plain["nodes"].size() <= kMaxNodesWithCode ? program.view(recipe, name, true)
                                                              : std::move(plain);
    if (name == "schedule") // later ones have the same kernels
      break;
  }
  result["graphs"] = std::move(graphs);
  result["report"] = Json::parse(program.explained(recipe, {"--json"}));
  result["machine"] = program.machine();
  return result;
}

} // namespace headrace::studio
