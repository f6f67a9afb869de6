// Programs as task graphs: what holds of every program, form and convention.
#include "explore/operators/OperatorTasks.h"

#include "explore/graph/Graphs.h"
#include "explore/graph/Measures.h"
#include "explore/graph/Synthetic.h"
#include "explore/search/Exploration.h"

namespace headrace::explore::test {
namespace {

using Kind = Operator::Kind;
using Access = Operator::Access;

// Operators of any kind on results of earlier ones.
OperatorGraph randomProgram(Draw &draw) {
  OperatorGraph program{"random", {}, {}};
  auto add = [&](Operator op) {
    op.name = "op" + std::to_string(program.operators.size());
    op.names = {op.name};
    program.operators.push_back(std::move(op));
  };
  int64_t volumes[] = {12, 24, 48};
  for (int64_t i = draw.below(2); i >= 0; --i)
    add({"", Kind::Input, volumes[draw.below(3)]});
  for (int64_t count = 2 + draw.below(7); count > 0; --count) {
    auto any = [&] {
      auto count = static_cast<int64_t>(program.operators.size());
      auto from = static_cast<int>(draw.below(2) == 0 ? count - 1 : draw.below(count));
      return Operator::Operand{from, draw.below(3) == 0 ? Access::Stored : Access::InOrder};
    };
    auto volume = [&](const Operator::Operand &operand) {
      return program.operators[operand.from].output;
    };
    Operator op;
    op.operands = {any()};
    op.kernel = static_cast<int>(draw.below(3)) - 1;
    int64_t read = volume(op.operands[0]);
    switch (draw.below(12)) {
    case 0:
      op.operands.push_back(any());
      op.output = op.points = std::max(read, volume(op.operands[1]));
      break;
    case 1:
      op.kind = Kind::Reduction;
      op.output = std::max<int64_t>(1, read / 4);
      op.points = read;
      break;
    case 2:
      op.kind = Kind::Contraction;
      op.contraction = {1 + draw.below(4), 1 + draw.below(6), 1 + draw.below(5), 1 + draw.below(3)};
      if (draw.below(2) == 0)
        op.operands.push_back(any());
      op.output = op.contraction.batch * op.contraction.m * op.contraction.n;
      op.points = op.contraction.points();
      break;
    case 3:
      op.kind = Kind::Convolution;
      op.contraction = {1 + draw.below(4), 1 + draw.below(6), 1 + draw.below(5), 1};
      op.output = op.contraction.m * op.contraction.n;
      op.points = op.contraction.points();
      break;
    case 4:
      op.kind = Kind::View;
      op.output = read;
      break;
    case 5:
      op.kind = Kind::Concat;
      op.operands.push_back(any());
      op.output = read + volume(op.operands[1]);
      break;
    case 6:
      op.kind = Kind::Systems;
      op.operands.push_back(any());
      op.systems = {1 + draw.below(4), 1 + draw.below(3), 1 + draw.below(3), 2, true};
      op.output = op.systems.batch * op.systems.unknowns * op.systems.columns * 2;
      break;
    case 7:
      op.kind = Kind::Other;
      op.output = 1 + draw.below(40);
      op.points = 1 + draw.below(90);
      break;
    default:
      op.output = op.points = read;
    }
    add(std::move(op));
  }
  program.results = {static_cast<int>(program.operators.size()) - 1};
  for (size_t i = 0; i + 1 < program.operators.size(); ++i)
    if (program.operators[i].kind != Kind::Input && draw.below(3) == 0)
      program.results.push_back(static_cast<int>(i));
  return program;
}

std::vector<Form> randomForms(const OperatorGraph &program, Draw &draw) {
  std::vector<Form> forms(program.operators.size(), Form::MatrixVector);
  for (size_t i = 0; i < forms.size(); ++i)
    if (std::vector<Form> own = formsOf(program.operators[i]); !own.empty())
      forms[i] = own[static_cast<size_t>(draw.below(static_cast<int64_t>(own.size())))];
  return forms;
}

// The operators that results depend on.
OperatorGraph withoutDeadOperators(const OperatorGraph &program) {
  std::vector<bool> needed(program.operators.size());
  for (int result : program.results)
    needed[result] = true;
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const Operator::Operand &operand : program.operators[i].operands)
        needed[operand.from] = true;
  OperatorGraph live = program;
  for (size_t i = 0; i < needed.size(); ++i)
    if (!needed[i]) {
      live.operators[i].points = live.operators[i].fusedPoints = 0;
      live.operators[i].kind = Kind::Other;
    }
  return live;
}

int64_t pointsOf(const TaskGraph &graph) {
  int64_t points = 0;
  for (const Task &task : graph.tasks())
    points += task.points;
  return points;
}

TEST(OperatorTasksTest, TasksHaveTheProgramsPointsAndSchedulesAreNoShorterThanTheirBounds) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Draw draw(seed);
    OperatorGraph program = randomProgram(draw);
    std::vector<Form> forms = randomForms(program, draw);
    for (Convention convention : {Convention::Tight, Convention::Slide})
      for (int64_t maxTasks : {4096, 2}) {
        TaskGraph graph = taskGraphOf(program, forms, {convention, maxTasks});
        EXPECT_EQ(pointsOf(graph), explore::pointsOf(withoutDeadOperators(program), forms)) << seed;
        int elements = 1 + static_cast<int>(draw.below(12));
        Outcome outcome = evaluate("", graph, elements, {});
        EXPECT_EQ(outcome.deadlock, "") << seed;
        EXPECT_LE(*outcome.simulated, outcome.schedule.bound) << seed;
        EXPECT_GE(outcome.schedule.makespan, streamingCriticalPath(graph)) << seed;
        EXPECT_GE(outcome.schedule.makespan * elements, outcome.work) << seed;
        EXPECT_GE(outcome.baseline, criticalPath(graph)) << seed;
      }
  }
}

TEST(OperatorTasksTest, TightTasksWorkAtLeastAsLongAsTheyHavePoints) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Draw draw(seed);
    OperatorGraph program = randomProgram(draw);
    TaskGraph graph = taskGraphOf(program, randomForms(program, draw), {});
    for (const Task &task : graph.tasks())
      EXPECT_GE(task.work(), task.points) << seed << ": " << task.name;
  }
}

TEST(OperatorTasksTest, TasksOfAContractionHaveItsWorkInEveryFormAndShare) {
  for (Form form : {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector})
    for (int64_t maxTasks : {100, 5, 1}) {
      GraphWriter writer("c");
      writer.beginOperator("c", {"c"});
      TaskGraph graph = writer.finish({writeContraction(writer, {writer.input(0, 70)}, {3, 5, 7, 2},
                                                        form, {Convention::Tight, maxTasks})});
      int64_t work = 0, count = 0;
      for (const Task &task : graph.tasks())
        if (task.points > 0) {
          work += task.work();
          ++count;
        }
      EXPECT_EQ(work, 2 * 3 * 5 * 7) << nameOf(form) << " " << maxTasks;
      EXPECT_LE(count, std::max<int64_t>(maxTasks, 2)) << nameOf(form);
    }
}

TEST(OperatorTasksTest, FusionKeepsPointsAndNames) {
  int fewer = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Draw draw(seed);
    OperatorGraph program = randomProgram(draw), joined = fused(program);
    EXPECT_EQ(joined.points(), program.points()) << seed;
    EXPECT_EQ(joined.results.size(), program.results.size());
    std::map<std::string, int> names;
    for (const Operator &op : joined.operators)
      for (const std::string &name : op.names)
        ++names[name];
    EXPECT_EQ(names.size(), program.operators.size()) << seed;
    fewer += joined.operators.size() < program.operators.size();
    std::vector<Form> forms = randomForms(joined, draw);
    TaskGraph graph = taskGraphOf(joined, forms, {});
    EXPECT_EQ(pointsOf(graph), explore::pointsOf(withoutDeadOperators(joined), forms)) << seed;
  }
  EXPECT_GT(fewer, 20);
}

TEST(OperatorTasksTest, AMapJoinsTheConvolutionBeforeItAndThePoolDoesNot) {
  OperatorGraph program{"net", {}, {3}};
  program.operators = {{"x", Kind::Input, 64},
                       {"conv", Kind::Convolution, 72, 648, {{0}}},
                       {"relu", Kind::Map, 72, 72, {{1}}},
                       {"pool", Kind::Reduction, 18, 72, {{2}}}};
  program.operators[1].contraction = {2, 36, 9};
  for (Operator &op : program.operators) {
    op.names = {op.name};
    op.kernel = op.name == "pool" ? 1 : 0;
  }
  OperatorGraph joined = fused(program);
  ASSERT_EQ(joined.operators.size(), 3u);
  EXPECT_EQ(joined.operators[1].names, (std::vector<std::string>{"conv", "relu"}));
  EXPECT_EQ(joined.operators[1].fusedPoints, 72);
}

TEST(OperatorTasksTest, InputsThatATaskReadsAreCountedOneByOne) {
  OperatorGraph program{"sum", {{"a", Kind::Input, 8}, {"b", Kind::Input, 8}}, {2}};
  program.operators.push_back({"add", Kind::Map, 8, 8, {{0}, {1}, {0}}});
  TaskGraph graph = taskGraphOf(program, std::vector<Form>(3), {});
  Outcome outcome = evaluate("", graph, 1, {});
  EXPECT_EQ(outcome.offChip, 3 * 8);
}

TEST(OperatorTasksTest, CholeskyReadsLessThanLu) {
  OperatorGraph program{"s", {{"a", Kind::Input, 320}, {"b", Kind::Input, 240}}, {2}};
  program.operators.push_back({"solve", Kind::Systems, 240, 0, {{0}, {1}}});
  program.operators[2].systems = {10, 4, 3, 2, true};
  auto outcome = [&](Form form) {
    return evaluate("", taskGraphOf(program, std::vector<Form>(3, form), {}), 8, {});
  };
  Outcome lu = outcome(Form::Lu), cholesky = outcome(Form::Cholesky);
  EXPECT_LT(cholesky.offChip, lu.offChip);
  EXPECT_LE(cholesky.schedule.makespan, lu.schedule.makespan);
  program.operators[2].systems.positiveDefinite = false;
  EXPECT_EQ(formsOf(program.operators[2]), std::vector{Form::Lu});
}

TEST(OperatorTasksTest, EmptyOperatorsAreRefusedByName) {
  OperatorGraph program{"e", {{"a", Kind::Input, 8}}, {1}};
  program.operators.push_back({"none", Kind::Map, 0, 0, {{0}}});
  EXPECT_EQ(errorOf([&] { taskGraphOf(program, std::vector<Form>(2), {}); }),
            "operator 'none': expected at least 1 element to compute, got 0");
}

} // namespace
} // namespace headrace::explore::test
