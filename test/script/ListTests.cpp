// Lists keep the types of their entries, and do what SystemDS's do.
#include "Sessions.h"

namespace headrace::script {
namespace {

struct Printed {
  const char *script, *output;
};
class Lists : public testing::TestWithParam<Printed> {};

TEST_P(Lists, PrintWhatSystemDsPrints) {
  for (CompileWhen compile : {CompileWhen::Never, CompileWhen::Always})
    EXPECT_EQ(runScript(GetParam().script, compile).output, GetParam().output);
}

INSTANTIATE_TEST_SUITE_P(
    Types, Lists,
    testing::Values(
        Printed{
            "l = list(a=TRUE, b=7); print(as.scalar(l[\"a\"])); print(as.scalar(l[\"b\"]) %/% 2)",
            "TRUE\n3\n"},
        Printed{"l = list(1.5, TRUE, \"x\"); for (i in 1:3) print(as.scalar(l[i]))",
                "1.5\nTRUE\nx\n"},
        Printed{"l = list(a=matrix(3, 2, 2)); X = as.matrix(l[\"a\"]); print(sum(X))", "12.0\n"},
        Printed{"l = list(list(1, 2), 3); m = as.list(l[1]); print(as.scalar(m[2]))", "2\n"},
        Printed{"l = list(X=matrix(1, 2, 2), y=0, icpt=3, reg=4, tol=5, maxi=6, verbose=7); "
                "l[\"tol\"] = 8; print(l[1:3]); print(length(as.list(list(1, 2))))",
                "List containing:\n[8, 4, 6]\n2\n"},
        Printed{"f = function(list[unknown] l) return (list[unknown] m) { m = append(l, 8) }\n"
                "m = f(list(7)); print(as.scalar(m[2]) %/% 3)",
                "2\n"}));

INSTANTIATE_TEST_SUITE_P(
    Changes, Lists,
    testing::Values(Printed{"l = list(1, 2, 3); print(l[2:3])", "List containing:\n[2, 3]\n"},
                    Printed{"l = list(a=1, b=2); print(l[\"a\":\"b\"]); print(length(l[2]))",
                            "List containing:\n[1, 2]\n1\n"},
                    Printed{"l = list(1, 2, 3); l[1:2] = list(8, 9); l[3] = list(TRUE); print(l)",
                            "List containing:\n[8, 9, TRUE]\n"},
                    Printed{"l = append(list(1, 2), list(3, 4)); print(l); print(nrow(l))",
                            "List containing:\n[1, 2, List containing:\n[3, 4]]\n3\n"},
                    Printed{"l = append(list(a=1), list(c=3)); print(as.scalar(l[\"c\"]))", "3\n"},
                    Printed{"l = append(list(), matrix(1, 1, 2)); print(l)",
                            "List containing:\n[\nMatrix:\n1.000 1.000\n]\n"},
                    Printed{"[l, x] = remove(list(1, 2, 3), 2); print(l); print(as.scalar(x))",
                            "List containing:\n[1, 3]\n2\n"},
                    Printed{"print(sum(rbind(list(matrix(1, 2, 2), matrix(2, 1, 2)))))", "8.0\n"},
                    Printed{"print(ncol(cbind(list(matrix(1, 2, 2), matrix(2, 2, 3)))))", "5\n"}));

TEST(ListMistakes, AreNamedAsTheScriptCallsThem) {
  auto firstLine = [](const std::string &text) {
    std::string message = errorOf(text);
    return message.substr(0, message.find('\n'));
  };
  EXPECT_EQ(firstLine("l = list(1, 2); x = as.scalar(l[3])"),
            "test.dml:1:31: entry 3 of a list of 2");
  EXPECT_EQ(firstLine("l = list(a=1); l[\"c\"] = 5"), "test.dml:1:16: the list has no entry 'c'");
  EXPECT_EQ(firstLine("l = list(1, 2); l[1:2] = 5"),
            "test.dml:1:17: expected 2 entries for the index on the left, got 5");
  EXPECT_EQ(firstLine("X = append(matrix(1, 2, 2), matrix(1, 3, 1))"),
            "test.dml:1:5: append of matrices of 2 x 2 and 3 x 1: expected equal rows");
  EXPECT_EQ(firstLine("X = append(list(1, 2))"), "test.dml:1:5: append expects a matrix, got 1");
  EXPECT_EQ(firstLine("X = append(matrix(1, 2, 2), list(1))"),
            "test.dml:1:5: append expects a matrix, got List[Unknown]");
  EXPECT_EQ(firstLine("X = rbind(list(matrix(1, 2, 2), \"a\"))"),
            "test.dml:1:5: rbind expects a matrix, got the string \"a\"");
}

} // namespace
} // namespace headrace::script
