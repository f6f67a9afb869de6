#include "runtime/system/Listing.h"

#include "verify/Report.h"
#include <algorithm>

namespace headrace::verify {

namespace {

// Names come from files of others.
std::string printable(const std::string &name) {
  std::string result;
  for (char c : name)
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
      result += c;
  return result;
}

std::string count(size_t number, const std::string &noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string> &names) {
  std::string result;
  for (const std::string &name : names)
    result += (result.empty() ? "" : ", ") + printable(name);
  return result;
}

std::string titleOf(const CaseReport &each) {
  std::string title = each.values;
  for (const auto &[name, size] : each.sizes)
    title += ", " + printable(name) + "=" + std::to_string(size);
  return title;
}

std::string stepText(const WrongStep &wrong) {
  std::string result = "    first wrong step: " + std::to_string(wrong.step) + " '" +
                       printable(wrong.kernel) + "', the value of operator '" +
                       printable(wrong.node) + "'\n";
  if (wrong.operators.size() > 1)
    result += "      it computes " + joined(wrong.operators) + "\n";
  return result + "      " + text(wrong.judgement) + "\n";
}

std::string othersText(const OtherSystem &other) {
  if (!other.missing.empty())
    return "    " + other.name + ": " + other.missing + "\n";
  std::string result;
  for (const ComparedValue &output : other.outputs)
    result += "    " + other.name + " " + other.version + ", " + printable(output.name) + ": " +
              (output.judgement.holds ? "" : "DIFFERS: ") + text(output.judgement) + "\n";
  return result;
}

std::string bisectionText(const CaseReport &each) {
  if (!each.firstPass.empty())
    return "the result changes in " + each.firstPass;
  std::string result = "no pass up to the phase 'kernels' changes the result";
  if (!each.holds())
    result += ": it changes in a later phase";
  for (const std::string &choice : each.rightWith)
    result += "\n    the result is right with " + choice;
  return result;
}

std::string caseText(const CaseReport &each) {
  if (!each.refused.empty())
    return "  " + titleOf(each) + ": not accepted: " + printable(each.refused) + "\n";
  std::string result = "  " + titleOf(each) + ": " + (each.holds() ? "agrees" : "DIFFERS");
  if (each.stepsCompared > 0)
    result += "; " + count(each.stepsCompared, "step") + " compared";
  else if (!each.whyNoSteps.empty())
    result += "; outputs only";
  result += "\n";
  for (const ComparedValue &output : each.outputs)
    result += "    " + printable(output.name) + ": " + text(output.judgement) + "\n";
  if (each.firstWrong)
    result += stepText(*each.firstWrong);
  if (each.isBisected)
    result += "    " + bisectionText(each) + "\n";
  if (!each.note.empty())
    result += "    " + printable(each.note) + "\n";
  if (!each.holds() && !each.whyNoSteps.empty())
    result += "    steps were not compared: " + printable(each.whyNoSteps) + "\n";
  if (!each.holds() && !each.stepsLeftOut.empty())
    result += "    steps that store no value of the model: " + joined(each.stepsLeftOut) + "\n";
  for (const OtherSystem &other : each.others)
    result += othersText(other);
  return result;
}

} // namespace

bool CaseReport::holds() const {
  return refused.empty() && !firstWrong && firstPass.empty() &&
         std::ranges::all_of(outputs, [](const auto &output) { return output.judgement.holds; });
}

bool Report::holds() const {
  bool isAny = false;
  for (const CaseReport &each : cases) {
    if (!each.refused.empty())
      continue;
    isAny = true;
    if (!each.holds())
      return false;
  }
  return isAny;
}

std::string text(const Report &report) {
  size_t compared = std::ranges::count_if(
      report.cases, [](const CaseReport &each) { return each.refused.empty(); });
  std::string result = printable(report.model);
  if (!report.package.empty())
    result = printable(report.package) + " against " + result;
  if (compared == 0)
    result += ": NOT COMPARED: it takes none of the inputs\n";
  else
    result += std::string(": ") + (report.holds() ? "agrees with" : "DIFFERS from") + " " +
              report.reference + " (" + count(compared, "case") + ")\n";
  for (const CaseReport &each : report.cases)
    result += caseText(each);
  if (!report.saved.empty())
    result += "saved " + printable(report.saved) + ": " + joined(report.savedNodes) + "\n";
  if (!report.notSaved.empty())
    result += "not saved: " + printable(report.notSaved) + "\n";
  return result;
}

} // namespace headrace::verify
