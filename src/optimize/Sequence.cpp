#include "optimize/Sequence.h"

#include "analysis/OperatorWork.h"
#include "dialect/Hr.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "runtime/program/Binding.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;

namespace headrace::optimize {

using ProgramStep = headrace::Step;
using Kind = BufferInfo::Kind;

Sequence Sequence::of(ModuleOp scheduled, const Targets &targets) {
  func::FuncOp entry = entryFunction(scheduled);
  Sequence result;
  result.program = buildProgramWithoutData(entry);
  for (auto constant : entry.getOps<hr::ConstantOp>())
    if (!constant->use_empty())
      result.constants.push_back(constant.getValue().getAsOpaquePointer());
  SizeHints hints = sizeHints(entry);
  for (auto [i, symbol] : llvm::enumerate(result.program.symbols))
    result.symbols.push_back(std::max(symbol.min, hints.of(static_cast<unsigned>(i))));
  result.works = workOfSteps(result.program, scheduled, targets, result.symbols);
  return result;
}

Figures Sequence::figures(const Targets &targets) const {
  Figures figures;
  figures.kernels = static_cast<int64_t>(program.steps.size());
  for (const ProgramStep &step : program.steps) {
    figures.bytes +=
        step.cost.bytesRead.evaluate(symbols) + step.cost.bytesWritten.evaluate(symbols);
    figures.operations += step.cost.operations.evaluate(symbols);
  }
  if (program.symbols.empty())
    figures.peakBytes = planTemporaries(program, {}).totalBytes + outputBytes(program, {});
  for (const StepPrediction &step : predictSteps(program, works, targets, symbols, /*threads=*/1))
    figures.microseconds += step.estimate.microseconds;
  return figures;
}

std::optional<size_t> Sequence::find(StringRef name) const {
  std::optional<size_t> found;
  for (auto [i, step] : llvm::enumerate(program.steps))
    if (step.name == name) {
      if (found)
        return std::nullopt;
      found = i;
    }
  return found;
}

namespace {

bool haveSameCost(const ProgramStep &a, const ProgramStep &b, ArrayRef<int64_t> symbols) {
  auto isSame = [&](const DimExpr &one, const DimExpr &other) {
    return one.evaluate({symbols.data(), symbols.size()}) ==
           other.evaluate({symbols.data(), symbols.size()});
  };
  return a.kind == b.kind && a.engine == b.engine && isSame(a.cost.bytesRead, b.cost.bytesRead) &&
         isSame(a.cost.bytesWritten, b.cost.bytesWritten) &&
         isSame(a.cost.operations, b.cost.operations);
}

class Splicer {
public:
  Splicer(const Sequence &whole, const Replacement &part) : whole(whole), part(part) {}

  std::optional<Sequence> run() {
    if (!matchBefore() || !matchAfter())
      return std::nullopt;
    merge();
    if (!isOrdered())
      return std::nullopt;
    return written();
  }

private:
  /// A step of the result, with operands in a numbering of its own: buffers of the whole program
  /// keep their number, those that the part adds follow.
  struct Entry {
    const ProgramStep *step;
    const StepWork *work;
    std::vector<int> operands;
    size_t results; // the last operands
    double place;
  };

  const Program &all() const { return whole.program; }

  /// The part as it is, in the program: its steps and buffers there.
  bool matchBefore() {
    const Program &before = part.before.program;
    inWhole.assign(before.buffers.size(), -1);
    isReplaced.assign(all().steps.size(), false);
    for (const ProgramStep &step : before.steps) {
      std::optional<size_t> found = whole.find(step.name);
      if (!found || all().steps[*found].operands.size() != step.operands.size())
        return false;
      const ProgramStep &same = all().steps[*found];
      bool isKept = part.kept.contains(step.name);
      if (!isKept && !haveSameCost(step, same, whole.symbols))
        return false;
      isReplaced[*found] = !isKept;
      for (auto [own, there] : llvm::zip_equal(step.operands, same.operands)) {
        bool isConstant = before.buffers[own].kind == Kind::Constant;
        if (isConstant != (all().buffers[there].kind == Kind::Constant))
          return false;
        if (inWhole[own] >= 0 && inWhole[own] != there)
          return false;
        inWhole[own] = there;
      }
    }
    return true;
  }

  std::optional<int> edge(Kind kind, int index) const {
    for (auto [i, buffer] : llvm::enumerate(part.before.program.buffers))
      if (buffer.kind == kind && buffer.index == index && inWhole[i] >= 0)
        return inWhole[i];
    return std::nullopt;
  }

  /// The part as it would be: its buffers in the program, or new ones.
  bool matchAfter() {
    const Program &after = part.after.program;
    inResult.assign(after.buffers.size(), -1);
    for (const ProgramStep &step : after.steps)
      if (part.kept.contains(step.name)) {
        const ProgramStep &same = all().steps[*whole.find(step.name)];
        std::optional<size_t> known = part.before.find(step.name);
        if (!known || step.operands.size() != same.operands.size() ||
            !haveSameCost(step, part.before.program.steps[*known], whole.symbols))
          return false;
        size_t results = resultsOf(after, step);
        for (size_t i = step.operands.size() - results; i < step.operands.size(); ++i)
          inResult[step.operands[i]] = same.operands[i];
      }
    for (auto [i, buffer] : llvm::enumerate(after.buffers)) {
      if (inResult[i] >= 0)
        continue;
      if (buffer.kind == Kind::Input || buffer.kind == Kind::Output) {
        std::optional<int> known = edge(buffer.kind, buffer.index);
        if (!known)
          return false;
        inResult[i] = *known;
      } else {
        inResult[i] = addBuffer(buffer, i);
      }
    }
    return true;
  }

  /// Results of a step are the buffers that it is the first to use, but no inputs and constants.
  size_t resultsOf(const Program &program, const ProgramStep &step) const {
    auto position = static_cast<int>(&step - program.steps.data());
    size_t results = 0;
    for (int buffer : llvm::reverse(step.operands)) {
      const BufferInfo &info = program.buffers[buffer];
      bool isComputed = info.kind == Kind::Temporary || info.kind == Kind::Output;
      if (!isComputed || info.firstStep != position)
        break;
      ++results;
    }
    return results;
  }

  int addBuffer(const BufferInfo &buffer, size_t number) {
    if (buffer.kind == Kind::Constant) {
      const void *value = part.after.constants[static_cast<size_t>(buffer.index)];
      for (auto [i, known] : llvm::enumerate(all().buffers))
        if (known.kind == Kind::Constant && known.engine == buffer.engine &&
            whole.constants[static_cast<size_t>(known.index)] == value)
          return static_cast<int>(i);
    }
    added.push_back(number);
    return static_cast<int>(all().buffers.size() + added.size()) - 1;
  }

  const BufferInfo &bufferOf(int number) const {
    auto count = static_cast<int>(all().buffers.size());
    return number < count ? all().buffers[number]
                          : part.after.program.buffers[added[static_cast<size_t>(number - count)]];
  }

  double placeOf(const ProgramStep &step, double otherwise) const {
    auto found = part.places.find(step.name);
    return found == part.places.end() ? otherwise : found->second;
  }

  /// What combines the results of a step is behind it; what else has no place of its own, such as
  /// the patches of a convolution, is made for the step that follows.
  std::vector<double> placesAfter() const {
    std::vector<double> places;
    double last = -1;
    for (const ProgramStep &step : part.after.program.steps)
      places.push_back(last = placeOf(step, StringRef(step.name).contains("/combine") ? last : -1));
    for (size_t i = places.size(); i-- > 1;)
      if (places[i - 1] < 0)
        places[i - 1] = places[i];
    return places;
  }

  /// Steps that are kept stay in their order; new ones are put where they are in the program.
  void merge() {
    double place = -1;
    for (size_t i = 0; i < all().steps.size(); ++i) {
      place = placeOf(all().steps[i], place);
      if (!isReplaced[i])
        entries.push_back({&all().steps[i], &whole.works[i], operandsOfKept(i),
                           resultsOf(all(), all().steps[i]), place});
    }
    size_t from = 0;
    for (const auto &[step, work, place] :
         llvm::zip_equal(part.after.program.steps, part.after.works, placesAfter())) {
      if (part.kept.contains(step.name))
        continue;
      std::vector<int> operands;
      for (int own : step.operands)
        operands.push_back(inResult[own]);
      while (from < entries.size() && entries[from].place <= place)
        ++from;
      entries.insert(
          entries.begin() + static_cast<long>(from),
          {&step, &work, std::move(operands), resultsOf(part.after.program, step), place});
      ++from;
    }
  }

  /// Operands of a step that is kept: what the part computes for it may be elsewhere now.
  std::vector<int> operandsOfKept(size_t index) const {
    const ProgramStep &step = all().steps[index];
    std::vector<int> operands = step.operands;
    std::optional<size_t> inPart = part.after.find(step.name);
    if (!inPart || !part.kept.contains(step.name))
      return operands;
    const ProgramStep &same = part.after.program.steps[*inPart];
    for (size_t i = 0; i < operands.size(); ++i)
      if (part.after.program.buffers[same.operands[i]].kind != Kind::Constant)
        operands[i] = inResult[same.operands[i]];
    return operands;
  }

  /// Whether every step reads what was computed before it.
  bool isOrdered() {
    llvm::DenseSet<int> computed;
    for (const Entry &entry : entries) {
      ArrayRef<int> operands = entry.operands;
      for (int operand : operands.drop_back(entry.results)) {
        Kind kind = bufferOf(operand).kind;
        if (kind != Kind::Input && kind != Kind::Constant && !computed.contains(operand))
          return false;
      }
      computed.insert(operands.end() - entry.results, operands.end());
    }
    return true;
  }

  /// The sequence as the compiler numbers it: temporaries in the order of their computation.
  Sequence written() const {
    Sequence result;
    result.symbols = whole.symbols;
    Program &program = result.program;
    program.name = all().name;
    program.symbols = all().symbols;
    program.inputs = all().inputs;
    program.outputs = all().outputs;
    std::vector<int> numbers(all().buffers.size() + added.size(), -1);
    auto add = [&](int buffer, int step) {
      numbers[buffer] = static_cast<int>(program.buffers.size());
      BufferInfo &info = program.buffers.emplace_back(bufferOf(buffer));
      info.firstStep = info.lastStep = step;
      if (info.kind == Kind::Constant) {
        bool isKnown = buffer < static_cast<int>(all().buffers.size());
        const Sequence &owner = isKnown ? whole : part.after;
        const void *value = owner.constants[static_cast<size_t>(info.index)];
        info.index = static_cast<int>(result.constants.size());
        result.constants.push_back(value);
      }
    };
    for (size_t i = 0; i < all().buffers.size(); ++i)
      if (all().buffers[i].kind == Kind::Input)
        add(static_cast<int>(i), 0);
    for (const Entry &entry : entries) {
      auto now = static_cast<int>(program.steps.size());
      program.steps.push_back(*entry.step);
      result.works.push_back(*entry.work);
      for (int &operand : program.steps.back().operands = entry.operands) {
        if (numbers[operand] < 0)
          add(operand, now);
        operand = numbers[operand];
        program.buffers[operand].lastStep = now;
      }
    }
    program.constants.resize(result.constants.size());
    return result;
  }

  const Sequence &whole;
  const Replacement &part;
  std::vector<int> inWhole, inResult; // of the part's buffers, before and after
  std::vector<bool> isReplaced;       // of the steps of the whole program
  std::vector<size_t> added;          // buffers of the part that the program does not have
  std::vector<Entry> entries;
};

} // namespace

std::optional<Sequence> spliced(const Sequence &whole, const Replacement &part) {
  return Splicer(whole, part).run();
}

} // namespace headrace::optimize
