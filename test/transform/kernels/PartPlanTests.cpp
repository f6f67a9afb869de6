// The plan of a part is the fastest that there is: compared with every plan, over random programs.
#include "analysis/cost/ProcessorRates.h"
#include "transform/kernels/PartPlan.h"

#include "llvm/Support/FormatVariadic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;

namespace headrace {
namespace {

/// A program of random operators over matrices of `rows` x `columns`, their rows, and products.
class RandomProgram {
public:
  RandomProgram(unsigned seed, int operators) : random(seed) {
    for (int i = 0; i < 2; ++i)
      values.push_back({"%x" + std::to_string(i), {kRows, kColumns}});
    for (int i = 0; i < operators; ++i)
      addOperator(i);
    finish();
  }
  std::string text;

private:
  static constexpr int kRows = 512, kColumns = 96;
  struct Shape {
    int rows, columns;
    bool operator==(const Shape &) const = default;
  };
  struct Value {
    std::string name;
    Shape shape;
    int readers = 0;
  };
  static std::string typeOf(Shape shape) {
    return llvm::formatv("tensor<{0}x{1}xf32>", shape.rows, shape.columns);
  }
  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); }
  /// Recent values more often than old ones.
  Value &any() {
    size_t count = values.size(), recent = std::min<size_t>(count, 4);
    return values[below(2) ? count - 1 - below(recent) : below(count)];
  }

  void addOperator(int i) {
    std::string name = "%v" + std::to_string(i);
    Value &a = any();
    ++a.readers;
    Shape shape = a.shape;
    switch (below(8)) {
    case 0: // a reduction of rows, or of columns
    case 1: {
      int axis = static_cast<int>(below(2));
      (axis == 0 ? shape.rows : shape.columns) = 1;
      body +=
          llvm::formatv("  {0} = hr.reduce sum {1} axes [{2}] {{keep_dims = true} : ({3}) -> {4}\n",
                        name, a.name, axis, typeOf(a.shape), typeOf(shape));
      break;
    }
    case 2: { // a product with few or many columns
      if (a.shape.columns != kColumns) {
        unary(name, a);
        break;
      }
      shape.columns = below(2) ? 2 : kColumns;
      std::string weight = shape.columns == 2 ? "%few" : "%many";
      body += llvm::formatv(
          "  {0} = hr.contract {1}, {2} maps [#lhs, #rhs, #out] : ({3}, {4}) -> {5}\n", name,
          a.name, weight, typeOf(a.shape), typeOf({kColumns, shape.columns}), typeOf(shape));
      break;
    }
    case 3:
    case 4:
      unary(name, a);
      break;
    default: { // a function of two, one of which may be broadcast
      Value &b = any();
      auto fits = [](int x, int y) { return x == y || x == 1 || y == 1; };
      if (!fits(a.shape.rows, b.shape.rows) || !fits(a.shape.columns, b.shape.columns)) {
        unary(name, a);
        break;
      }
      ++b.readers;
      shape = {std::max(a.shape.rows, b.shape.rows), std::max(a.shape.columns, b.shape.columns)};
      body += llvm::formatv(
          "  {0} = hr.map({1}, {2}) : ({3}, {4}) -> {5} {{\n  ^bb0(%a: f32, %b: f32):\n"
          "    %r = arith.addf %a, %b : f32\n    hr.yield %r : f32\n  }\n",
          name, a.name, b.name, typeOf(a.shape), typeOf(b.shape), typeOf(shape));
    }
    }
    values.push_back({name, shape});
  }

  void unary(const std::string &name, const Value &a) {
    body += llvm::formatv("  {0} = hr.map({1}) : ({2}) -> {2} {{\n  ^bb0(%a: f32):\n"
                          "    %r = math.exp %a : f32\n    hr.yield %r : f32\n  }\n",
                          name, a.name, typeOf(a.shape));
  }

  void finish() {
    std::string results, types;
    for (const Value &value : values)
      if (value.readers == 0 && value.name[1] == 'v') {
        results += (results.empty() ? "" : ", ") + value.name;
        types += (types.empty() ? "" : ", ") + typeOf(value.shape);
      }
    std::string whole = typeOf({kRows, kColumns});
    text = "#lhs = affine_map<(i, j, k) -> (i, k)>\n#rhs = affine_map<(i, j, k) -> (k, j)>\n"
           "#out = affine_map<(i, j, k) -> (i, j)>\n"
           "func.func @f(%x0: " +
           whole + ", %x1: " + whole + ", %few: " + typeOf({kColumns, 2}) +
           ", %many: " + typeOf({kColumns, kColumns}) + ") -> (" + types + ") {\n" + body +
           "  return " + results + " : " + types + "\n}\n";
  }

  std::mt19937 random;
  std::vector<Value> values;
  std::string body;
};

/// Goes through every way to put the operators into kernels: every set of them that could be one,
/// walking along any axis.
class EveryPlan {
public:
  EveryPlan(ArrayRef<hr::OperatorInterface> operators, const KernelRules &rules, GroupCost &cost,
            const KernelLinks &links)
      : operators(operators) {
    SmallVector<unsigned> linked(operators.size());
    for (auto [i, a] : llvm::enumerate(operators))
      for (auto [j, b] : llvm::enumerate(operators))
        if (i < j && (links.mayMerge(a, b) || (isRead(a, b) && links.mayJoin(a, b)))) {
          linked[i] |= 1u << j;
          linked[j] |= 1u << i;
        }
    for (unsigned members = 1; members < 1u << operators.size(); ++members) {
      if (!isConnected(members, linked))
        continue;
      SmallVector<hr::OperatorInterface> reversed;
      for (unsigned i = operators.size(); i-- > 0;)
        if ((members >> i) & 1)
          reversed.push_back(operators[i]);
      auto consider = [&](std::optional<KernelGroup::Walk> walk) {
        std::optional<KernelGroup> group = assembleGroup(reversed, rules, walk);
        if (!group || (walk && !group->walkAxis()))
          return;
        auto known = kernels.try_emplace(members, std::numeric_limits<double>::infinity()).first;
        known->second = std::min(known->second, cost.of(*group));
      };
      std::optional<KernelGroup> otherwise = assembleGroup(reversed, rules, std::nullopt);
      if (otherwise && !otherwise->walkAxis())
        consider(std::nullopt);
      for (unsigned dim = 0; dim < rules.movementOf(reversed.front()).domain.size(); ++dim)
        consider(KernelGroup::Walk{dim});
    }
  }

  double fastest() {
    choose((1u << operators.size()) - 1, 0);
    return best;
  }

private:
  static bool isRead(hr::OperatorInterface op, hr::OperatorInterface by) {
    return llvm::is_contained(by->getOperands(), op->getResult(0));
  }

  static bool isConnected(unsigned members, ArrayRef<unsigned> linked) {
    unsigned reached = members & -members;
    for (unsigned before = 0; before != reached;) {
      before = reached;
      for (auto [i, others] : llvm::enumerate(linked))
        if ((reached >> i) & 1)
          reached |= others & members;
    }
    return reached == members;
  }

  void choose(unsigned left, double spent) {
    if (spent >= best)
      return;
    if (left == 0) {
      if (isAcyclic())
        best = spent;
      return;
    }
    unsigned last = 1u << llvm::Log2_32(left);
    for (auto &[members, microseconds] : kernels)
      if ((members & last) && (members & ~left) == 0) {
        chosen.push_back(members);
        choose(left & ~members, spent + microseconds);
        chosen.pop_back();
      }
  }

  bool isAcyclic() const {
    std::map<Operation *, size_t> kernelOf;
    for (auto [k, members] : llvm::enumerate(chosen))
      for (unsigned i = 0; i < operators.size(); ++i)
        if ((members >> i) & 1)
          kernelOf[operators[i]] = k;
    std::vector<std::vector<bool>> waits(chosen.size(), std::vector<bool>(chosen.size()));
    for (hr::OperatorInterface op : operators)
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && kernelOf[producer] != kernelOf[op])
          waits[kernelOf[op]][kernelOf[producer]] = true;
    for (size_t via = 0; via < chosen.size(); ++via)
      for (size_t a = 0; a < chosen.size(); ++a)
        for (size_t b = 0; b < chosen.size(); ++b)
          if (waits[a][via] && waits[via][b])
            waits[a][b] = true;
    for (size_t a = 0; a < chosen.size(); ++a)
      if (waits[a][a])
        return false;
    return true;
  }

  ArrayRef<hr::OperatorInterface> operators;
  std::map<unsigned, double> kernels;
  SmallVector<unsigned> chosen;
  double best = std::numeric_limits<double>::infinity();
};

class PartPlanTest : public testing::Test {
protected:
  PartPlanTest() {
    context.loadDialect<hr::HrDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
    machine.setRates(derivedRates({.name = "processor", .threads = 2}));
  }
  MLIRContext context;
  Machine machine;
};

TEST_F(PartPlanTest, IsTheFastestOfAllPlans) {
  bool large = std::getenv("HEADRACE_LARGE_TESTS") != nullptr;
  auto number = [](const char *variable, unsigned otherwise) {
    const char *text = std::getenv(variable);
    return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
  };
  unsigned programs = number("HEADRACE_PROGRAMS", large ? 500 : 120);
  unsigned maxOperators = large ? 12 : 9;
  unsigned first = number("HEADRACE_FIRST_SEED", 0);
  size_t fused = 0, apart = 0;
  for (unsigned seed = first; seed < first + programs; ++seed)
    for (KernelRules::Loops loops : {KernelRules::Loops::Shared, KernelRules::Loops::Whole}) {
      RandomProgram program(seed, 2 + static_cast<int>(seed % (maxOperators - 1)));
      SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program.text);
      auto module = parseSourceString<ModuleOp>(program.text, &context);
      ASSERT_TRUE(module);
      func::FuncOp function = *module->getOps<func::FuncOp>().begin();
      Block &body = function.getBody().front();
      SmallVector<hr::OperatorInterface> operators;
      for (Operation &op : body.without_terminator())
        operators.push_back(cast<hr::OperatorInterface>(&op));
      KernelRules rules(function, loops);
      GroupCost cost(function, rules, machine);
      KernelLinks links(body, rules, cost);
      double fastest = EveryPlan(operators, rules, cost, links).fastest();

      PlanCounts counts;
      std::optional<SmallVector<KernelGroup>> plan =
          PartPlan(operators, rules, cost, links, counts)
              .fasterThan(std::numeric_limits<double>::infinity());
      ASSERT_TRUE(plan);
      double found = 0;
      for (const KernelGroup &group : *plan) {
        found += cost.of(group);
        (group.getOperators().size() > 1 ? fused : apart) += 1;
      }
      ASSERT_NEAR(found, fastest, 1e-6 * fastest);
      ASSERT_EQ(PartPlan(operators, rules, cost, links, counts).fasterThan(fastest * (1 - 1e-6)),
                std::nullopt);
    }
  // The programs put both to the test.
  EXPECT_GT(fused, programs / 4);
  EXPECT_GT(apart, programs / 4);
}

} // namespace
} // namespace headrace
