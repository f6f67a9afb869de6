#include "optimize/Structure.h"

#include "dialect/Hr.h"
#include "runtime/system/Error.h"
#include "transform/choices/Verbs.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>

using namespace mlir;

namespace headrace::optimize {

namespace {

constexpr StringLiteral kAfter = " after ", kLastAxis = "reduce over last axis";
/// How many ways to put a structure into a program are compared, and how far apart operators are
/// looked for.
constexpr int kMaxTried = 20'000, kMaxDistance = 8;

std::string kindOf(Operation *op, const OperatorNames &names) {
  std::string every = (kEvery + kLastAxis).str();
  return names.match(every, op) == OperatorNames::Match::Structure
             ? kLastAxis.str()
             : op->getName().stripDialect().str();
}

/// Whether elements only pass through it, or change one by one.
bool passesElementsOn(Operation *op) {
  return isa<hr::MapOp, hr::ReshapeOp, hr::BroadcastOp, hr::TransposeOp>(op);
}

/// How many operators are between an operator and those that it comes after, by operator.
llvm::DenseMap<Operation *, int> distancesBefore(Operation *op) {
  llvm::DenseMap<Operation *, int> distances;
  std::deque<std::pair<Operation *, int>> waiting{{op, 0}};
  while (!waiting.empty()) {
    auto [next, distance] = waiting.front();
    waiting.pop_front();
    if ((next != op && !passesElementsOn(next)) || distance == kMaxDistance)
      continue;
    for (Value operand : next->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && distances.try_emplace(producer, distance).second)
        waiting.emplace_back(producer, distance + 1);
  }
  return distances;
}

/// The closest operators of a structure in a program, one place after the other.
class Search {
public:
  using Fits = llvm::function_ref<bool(size_t named, Operation *op)>;

  Search(const Operators &program, ArrayRef<std::vector<size_t>> after) : after(after) {
    for (Operation *op : program.inOrder)
      before[op] = distancesBefore(op);
    candidates = program.inOrder;
  }

  std::vector<Operation *> next(Fits fits) {
    best.clear();
    tried = 0;
    chosen.assign(after.size(), nullptr);
    place(0, 0, fits);
    for (Operation *op : best)
      used.insert(op);
    return best;
  }

  /// Operators between two that were found, the last one first, with one that reads each.
  std::vector<std::pair<Operation *, Operation *>> between(ArrayRef<Operation *> found) {
    std::vector<std::pair<Operation *, Operation *>> result;
    llvm::DenseSet<Operation *> inside(found.begin(), found.end());
    for (Operation *op : llvm::reverse(candidates)) {
      bool isBehindOne =
          llvm::any_of(found, [&](Operation *other) { return before[op].contains(other); });
      if (!passesElementsOn(op) || isa<hr::ReshapeOp>(op) || inside.contains(op) || !isBehindOne)
        continue;
      auto reader =
          llvm::find_if(op->getUsers(), [&](Operation *user) { return inside.contains(user); });
      if (reader == op->getUsers().end())
        continue;
      result.emplace_back(op, *reader);
      inside.insert(op);
    }
    return result;
  }

private:
  void place(size_t index, int distance, Fits fits) {
    if (!best.empty() && distance >= bestDistance)
      return;
    if (index == after.size()) {
      best = chosen;
      bestDistance = distance;
      return;
    }
    for (Operation *op : candidates) {
      if (++tried > kMaxTried)
        return;
      if (used.contains(op) || llvm::is_contained(chosen, op) || !fits(index, op))
        continue;
      int further = 0;
      bool isBehind = llvm::all_of(after[index], [&](size_t other) {
        auto found = before[op].find(chosen[other]);
        // What stands right before a reduction matters more than what changes elements in between.
        int weight = passesElementsOn(op) ? 1 : 2;
        further += found == before[op].end() ? 0 : weight * found->second;
        return found != before[op].end();
      });
      if (!isBehind)
        continue;
      chosen[index] = op;
      place(index + 1, distance + further, fits);
      chosen[index] = nullptr;
    }
  }

  ArrayRef<std::vector<size_t>> after;
  std::vector<Operation *> candidates, chosen, best;
  llvm::DenseMap<Operation *, llvm::DenseMap<Operation *, int>> before;
  llvm::DenseSet<Operation *> used;
  int bestDistance = 0, tried = 0;
};

std::vector<std::string> namesIn(const Step &step) {
  std::vector<std::string> names{step.subject()};
  if (step.choice && step.choice->hasOperatorAsObject())
    names.push_back(step.choice->object);
  return names;
}

} // namespace

Structure::Structure(ArrayRef<Step> steps, const Operators &program) {
  llvm::DenseSet<Operation *> named;
  for (const Step &step : steps)
    for (const std::string &name : namesIn(step))
      if (Operation *op = program.ops.lookup(name))
        named.insert(op);
  llvm::DenseMap<Operation *, size_t> positions;
  for (Operation *op : program.inOrder) {
    if (!named.contains(op))
      continue;
    Named &each = operators.emplace_back();
    each.name = program.names.of(op).str();
    each.kind = kindOf(op, program.names);
    llvm::DenseMap<Operation *, int> before = distancesBefore(op);
    for (Operation *other : program.inOrder)
      if (auto known = positions.find(other); known != positions.end() && before.contains(other))
        each.after.push_back(known->second);
    positions[op] = operators.size() - 1;
  }
}

Structure::Structure(ArrayRef<std::string> lines) {
  std::map<std::string, size_t> positions;
  for (const std::string &line : lines) {
    auto [name, rest] = StringRef(line).split(": ");
    auto [kind, others] = rest.split(kAfter);
    if (kind.empty())
      throw Error(ErrorKind::InvalidArgument, "operator '" + name.str() +
                                                  "': expected a kind behind the name, got '" +
                                                  line + "'");
    Named each{name.str(), kind.str(), {}};
    llvm::SmallVector<StringRef> names;
    others.split(names, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef other : names) {
      auto known = positions.find(other.str());
      if (known == positions.end())
        throw Error(ErrorKind::InvalidArgument, "operator '" + name.str() +
                                                    "': expected operators of lines before, got '" +
                                                    other.str() + "'");
      each.after.push_back(known->second);
    }
    positions[each.name] = operators.size();
    operators.push_back(std::move(each));
  }
}

std::vector<std::string> Structure::lines() const {
  std::vector<std::string> lines;
  for (const Named &each : operators) {
    std::string &line = lines.emplace_back(each.name + ": " + each.kind);
    for (size_t i = 0; i < each.after.size(); ++i)
      line += (i == 0 ? kAfter.str() : " ") + operators[each.after[i]].name;
  }
  return lines;
}

bool Structure::isNamedIn(const Operators &program) const {
  return llvm::all_of(operators,
                      [&](const Named &each) { return program.ops.contains(each.name); });
}

std::vector<Structure::Place> Structure::placesIn(const Operators &program) const {
  std::vector<std::vector<size_t>> after;
  for (const Named &each : operators)
    after.push_back(each.after);
  Search search(program, after);
  auto fits = [&](size_t named, Operation *op) {
    return operators[named].kind == kindOf(op, program.names);
  };
  std::vector<Place> places;
  while (!operators.empty()) {
    std::vector<Operation *> found = search.next(fits);
    if (found.empty())
      break;
    Place &place = places.emplace_back();
    for (size_t i = 0; i < found.size(); ++i)
      place.names[operators[i].name] = program.names.of(found[i]).str();
    for (auto [op, reader] : search.between(found))
      place.steps.emplace_back().choice = ProgramStep{
          verbs::fuse.name.str(), program.names.of(op).str(), program.names.of(reader).str()};
  }
  return places;
}

Step renamed(Step step, const Structure::Place &place) {
  auto rename = [&](std::string &name) {
    if (auto found = place.names.find(name); found != place.names.end())
      name = found->second;
  };
  if (step.kernel)
    rename(step.kernel->name);
  else {
    rename(step.choice->subject);
    if (step.choice->hasOperatorAsObject())
      rename(step.choice->object);
  }
  return step;
}

} // namespace headrace::optimize
