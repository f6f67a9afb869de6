// Which parfor loops are rejected because an iteration may need what another one does.
#include "ScriptHelpers.h"

namespace headrace::script {
namespace {

const char *kVariables =
    "R = matrix(0, 9, 9); L = list(1, 2, 3); n = nrow(R); k = n - 1; s = 0; t = 0\n";

class LegalLoops : public testing::TestWithParam<const char *> {};

TEST_P(LegalLoops, AreTaken) {
  EXPECT_NO_THROW(analyzed(std::string(kVariables) + GetParam(), {}));
}

INSTANTIATE_TEST_SUITE_P(
    Loops, LegalLoops,
    testing::Values(
        "parfor (i in 1:4) R[i, ] = R[i, ] + 1", "parfor (i in 1:4) R[, i] = R[, i] * 2",
        "parfor (i in 1:4) R[2 * i, ] = R[2 * i - 1, ]",
        "parfor (i in 1:4) { R[2 * i - 1, ] = matrix(1, 1, 9); R[2 * i, 1] = 5 }",
        "parfor (i in 1:3) R[i, ] = R[i + 4, ]", "parfor (i in 1:n) for (j in 1:n) R[i, j] = i + j",
        "parfor (i in 1:n) parfor (j in 1:n) R[i, j] = R[i, j] + 1",
        "parfor (i in 1:3) for (j in 1:3) R[(i - 1) * 3 + j, 1] = j",
        "parfor (i in 1:3) R[(i - 1) * k + 1:i * k, ] = matrix(i, k, 9)",
        "parfor (i in 1:3) { b = (i - 1) * k + 1; e = b + k - 1; R[b:e, ] = matrix(i, k, 9) }",
        "parfor (i in seq(1, 9, 3)) R[i:(i + 2), ] = matrix(i, 3, 9)",
        "parfor (i in 1:4) R[i + k, 1] = nrow(R)", "parfor (i in 4:1) R[i, 1] = i",
        "parfor (i in 1:3) L[i] = i", "parfor (i in 1:4) s += i",
        "parfor (i in 1:4) { own = i; own = own + 1 }\nparfor (i in 1:4) own = i",
        "parfor (i in 1:4, check = 0) s = s + i", "parfor (i in 1:4, check = FALSE) s = i",
        "parfor (i in 1:4) { R[i, 1] = i; parfor (j in 1:4, check = 0) s = s + sum(R) }",
        "for (i in 1:4) s = s + i"));

struct Dependence {
  const char *loop;
  const char *message;
};
class DependentLoops : public testing::TestWithParam<Dependence> {};

TEST_P(DependentLoops, AreRefusedWithBothAccesses) {
  std::string message = analysisError(std::string(kVariables) + GetParam().loop, {});
  EXPECT_NE(message.find("parfor: iterations depend on each other through " +
                         std::string(GetParam().message)),
            std::string::npos)
      << message;
}

INSTANTIATE_TEST_SUITE_P(
    Loops, DependentLoops,
    testing::Values(
        Dependence{"parfor (i in 1:4) s = s + i", "'s', which is written as s in line 2, column 19 "
                                                  "and read as s in line 2, column 23; check=0"},
        Dependence{"parfor (i in 1:4) s = i", "'s', which is written as s in line 2"},
        Dependence{"parfor (i in 1:4) { s += i; t = s }", "'s'"},
        Dependence{"parfor (i in 2:4) R[i, ] = R[i - 1, ]",
                   "'R', which is written as R[i, ] in line 2, column 19 and read as R[i - 1, ]"},
        Dependence{"parfor (i in 1:4) R[i, ] = matrix(sum(R), 1, 9)", "'R'"},
        Dependence{"parfor (i in 1:4) R[1, 1] = i", "'R', which is written as R[1, 1]"},
        Dependence{"parfor (i in 1:4) R[2 * i, ] = R[i, ]", "'R'"},
        Dependence{"parfor (i in 1:4) R[i * t, ] = R[i, ]", "'R'"},
        Dependence{"parfor (i in 1:4) R[i %/% 2, 1] = i", "'R'"},
        Dependence{"parfor (i in 1:4) R[i:(i + 1), 1] = matrix(1, 2, 1)", "'R'"},
        Dependence{"parfor (i in 1:3) for (j in 1:4) R[(i - 1) * 3 + j, 1] = j", "'R'"},
        Dependence{"parfor (i in 1:3) { b = i; if (i > 1) b = 1; R[b, 1] = i }", "'R'"},
        Dependence{"parfor (i in 1:3) { L[i] = i; x = L[1] }", "'L'"},
        Dependence{
            "f = function(Double a) return (Double y) { y = 0\nparfor (i in 1:3) y = y + a }\n"
            "z = f(1)",
            "'y'"}));

} // namespace
} // namespace headrace::script
