// A recipe for a program of tensor expressions on a device while it is written: every line is
// checked at once. No MLIR header.
#pragma once

#include "frontend/expr/Stage.h"

#include <string>
#include <vector>

namespace headrace {

class LaunchSchedule {
public:
  /// Begins without lines. Throws Error if the expressions do not make a program, or the target is
  /// not a device.
  LaunchSchedule(std::vector<expr::Stage> outputs, std::string target);

  /// Lines as text: all of them, or none; throws Error naming the line and the reason if one is
  /// not legal, or a second one of its stage.
  void apply(const std::string &text);

  /// All lines so far, as text.
  const std::string &recipe() const { return text; }
  const std::string &target() const { return targetName; }
  /// The names of all stages, launched or not.
  const std::vector<std::string> &stages() const { return names; }
  /// How the stage is launched, as a line of a recipe says it; empty if it is computed if it
  /// is read. Throws Error if there is no such stage.
  std::string launchOf(const std::string &stage) const;

private:
  struct Launch {
    std::string stage, said;
  };
  std::vector<Launch> launchesWith(const std::string &recipe) const;

  std::vector<expr::Stage> outputs;
  std::string targetName;
  std::string text;
  std::vector<std::string> names;
  std::vector<Launch> launches;
};

} // namespace headrace
