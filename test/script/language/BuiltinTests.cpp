#include "ScriptHelpers.h"
#include <algorithm>

namespace headrace::script {
namespace {

TEST(Builtins, NamesOfOneFunctionShareACanonicalOne) {
  ASSERT_TRUE(findBuiltin("ceiling"));
  EXPECT_EQ(findBuiltin("ceiling")->canonical, "ceil");
  EXPECT_EQ(findBuiltin("ceil")->canonical, "ceil");
  EXPECT_EQ(findBuiltin("append")->canonical, "cbind");
  EXPECT_FALSE(findBuiltin("frobnicate"));
}

TEST(Builtins, TableIsWellFormed) {
  std::vector<const Builtin *> all = allBuiltins();
  EXPECT_GT(all.size(), 150U);
  for (const Builtin *builtin : all) {
    EXPECT_TRUE(findBuiltin(builtin->canonical)) << builtin->name;
    // Required parameters are before those that may be left out.
    EXPECT_TRUE(std::ranges::is_partitioned(builtin->parameters, &FormalParameter::required))
        << builtin->name;
  }
}

/// The call on the right of the only statement.
const Call &onlyCall(const Program &program) {
  return *program.main.body.front()
              .as<BasicBlock>()
              ->statements.front()
              ->as<Assign>()
              ->value->as<Call>();
}

TEST(Builtins, ArgumentsStandInTheTablesOrder) {
  Program program = analyzed("x = matrix(cols = 2, 0, rows = 3)");
  const Call &call = onlyCall(program);
  ASSERT_EQ(call.arguments.size(), 6U);
  EXPECT_EQ(print(*call.arguments[0].value), "0");
  EXPECT_EQ(print(*call.arguments[1].value), "3");
  EXPECT_EQ(print(*call.arguments[2].value), "2");
  EXPECT_FALSE(call.arguments[3].value);
  EXPECT_EQ(call.builtin, findBuiltin("matrix"));
}

TEST(Builtins, VariadicArgumentsFollow) {
  Program program = analyzed("x = list(a = 1, 2, b = 3)");
  const Call &call = onlyCall(program);
  ASSERT_EQ(call.arguments.size(), 3U);
  EXPECT_EQ(call.arguments[0].name, "a");
  EXPECT_EQ(call.arguments[1].name, "");
  EXPECT_EQ(call.arguments[2].name, "b");
}

// Scripts give names that mean nothing to functions which go by position.
TEST(Builtins, PositionalArgumentsIgnoreNames) {
  Program program = analyzed("x = table(1, 2, cols = 3, 4)");
  const Call &call = onlyCall(program);
  EXPECT_EQ(print(*call.arguments[2].value), "3");
  EXPECT_EQ(print(*call.arguments[3].value), "4");
}

} // namespace
} // namespace headrace::script
