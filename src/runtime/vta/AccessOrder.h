// Race detection: the last uses of every element, and whether tokens order them before the present
// one.
#pragma once

#include "runtime/vta/InstructionSet.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace headrace::vta {

/// The number of an instruction among those of its module, from 1 on; 0 means no instruction.
using Epoch = uint32_t;

/// The happens-before relation, as vector clocks: for each module, the last instruction of every
/// module that is over. A token carries the clock from the module that pushes to the one that pops.
class HappensBefore {
public:
  bool mayBegin(const Instruction &instruction) const {
    auto waiting = [&](Queue queue) { return tokens[static_cast<size_t>(queue)].empty(); };
    return std::ranges::none_of(instruction.pops(), waiting);
  }

  void begin(const Instruction &instruction) {
    Clock &own = clocks[static_cast<size_t>(instruction.module())];
    for (Queue queue : instruction.pops()) {
      std::deque<Clock> &from = tokens[static_cast<size_t>(queue)];
      for (size_t m = 0; m < own.size(); ++m)
        own[m] = std::max(own[m], from.front()[m]);
      from.pop_front();
    }
    ++own[static_cast<size_t>(instruction.module())];
  }

  void end(const Instruction &instruction) {
    for (Queue queue : instruction.pushes())
      tokens[static_cast<size_t>(queue)].push_back(
          clocks[static_cast<size_t>(instruction.module())]);
  }

  /// The last instruction of `of` that is over for certain when `module` runs its present one; of
  /// itself, the present one.
  Epoch known(Module module, Module of) const {
    return clocks[static_cast<size_t>(module)][static_cast<size_t>(of)];
  }

private:
  using Clock = std::array<Epoch, moduleCount>;
  std::array<Clock, moduleCount> clocks{};
  std::array<std::deque<Clock>, queueCount> tokens;
};

/// The last uses of each element of a memory that one module writes and others read. Modules run in
/// order, so a use that is not known to be over shows in the last one.
class AccessLog {
public:
  /// `readers` are those other than the writer itself.
  AccessLog(size_t elements, Module writer, std::initializer_list<Module> readers)
      : writer(writer), written(elements, 0) {
    for (Module reader : readers)
      reads[static_cast<size_t>(reader)].assign(elements, 0);
  }

  struct Conflict {
    Module module;
    Epoch epoch;
  };

  bool wasWritten(size_t element) const { return written[element] != 0; }

  /// Records that `module` reads the element in its present instruction; returns a conflict, if
  /// any.
  std::optional<Conflict> read(Module module, size_t element, const HappensBefore &order) {
    if (module == writer) // its own instructions are in order
      return {};
    reads[static_cast<size_t>(module)][element] = order.known(module, module);
    if (written[element] > order.known(module, writer))
      return Conflict{writer, written[element]};
    return {};
  }

  std::optional<Conflict> write(size_t element, const HappensBefore &order) {
    written[element] = order.known(writer, writer);
    for (size_t m = 0; m < reads.size(); ++m)
      if (!reads[m].empty() && reads[m][element] > order.known(writer, static_cast<Module>(m)))
        return Conflict{static_cast<Module>(m), reads[m][element]};
    return {};
  }

private:
  Module writer;
  std::vector<Epoch> written;
  std::array<std::vector<Epoch>, moduleCount> reads;
};

} // namespace headrace::vta
