#include "studio/server/Steps.h"

#include <map>
#include <sstream>

namespace headrace::studio {

namespace {

/// Verbs that decide the same question.
std::string questionOf(const std::string &verb) {
  static const std::map<std::string, std::string> questions = {
      {"fuse", "kernel"}, {"merge", "kernel"}, {"separate", "kernel"}, {"fold", "fold"},
      {"leave", "fold"},  {"keep", "keep"},    {"recompute", "keep"},  {"kernel", "schedule"},
      {"plan", "plan"},   {"follow", "follow"}};
  auto found = questions.find(verb);
  return found == questions.end() ? verb : found->second;
}

} // namespace

std::string subjectOf(const std::string &step) {
  std::istringstream words(step);
  std::string verb, name;
  words >> verb >> name;
  if (verb == "every" || name == "every") { // `expand every conv of 1x1 as generated`
    std::getline(words, name);
    for (const char *end : {" as ", " into ", " along "})
      name = name.substr(0, name.find(end));
    name = "every" + name;
  }
  return questionOf(verb) + " " + name;
}

std::vector<std::string> stepsOf(const std::string &recipe) {
  std::vector<std::string> steps;
  std::istringstream lines(recipe);
  for (std::string line; std::getline(lines, line);) {
    size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#')
      continue;
    if (begin > 0 && !steps.empty())
      steps.back() += "\n" + line;
    else
      steps.push_back(line);
  }
  return steps;
}

std::string withStep(const std::string &recipe, const std::string &step) {
  std::string result;
  for (const std::string &each : stepsOf(recipe))
    if (subjectOf(each) != subjectOf(step))
      result += each + "\n";
  for (const std::string &each : stepsOf(step))
    result += each + "\n";
  return result;
}

} // namespace headrace::studio
