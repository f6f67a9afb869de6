// Results that do not fit into memory are rejected with the line and the operation that wants them.
#include "runtime/sparse/CsrMatrix.h"

#include "Sessions.h"

namespace headrace::script {
namespace {

/// A square sparse matrix whose dense form would take 8 TB.
CsrMatrix vast() { return CsrMatrix::empty(1'000'000, 1'000'000); }

std::string errorOf(const std::string &text, CompileWhen compile,
                    const ScriptSession::Variables &inputs) {
  try {
    runScript(text, compile, inputs);
  } catch (const Error &error) {
    std::string message = error.what();
    return message.substr(0, message.find('\n'));
  }
  return "no error";
}

TEST(ScriptMemory, AnOperatorSaysWhatItNeeds) {
  for (CompileWhen compile : {CompileWhen::Never, CompileWhen::Always})
    for (auto [script, start] :
         {std::pair("s = 1\ny = X == 0", "test.dml:2:7: ==: needs 8.0 TB for a dense "),
          std::pair("y = cumsum(X)", "test.dml:1:5: cumsum: needs 8.0 TB for a dense ")}) {
      std::string message = errorOf(script, compile, {{"X", vast()}});
      EXPECT_EQ(message.find(start), 0U) << message;
      EXPECT_NE(message.find(" of 1000000 x 1000000, "), std::string::npos) << message;
      EXPECT_NE(message.find(" are available"), std::string::npos) << message;
    }
}

TEST(ScriptMemory, ACompiledBlockNamesTheOperation) {
  Tensor u = newMatrix(1'000'000, 1), v = newMatrix(1, 1'000'000);
  std::fill_n(u.as<double>(), u.elements(), 1.0);
  std::fill_n(v.as<double>(), v.elements(), 1.0);
  std::string message =
      errorOf("s = sum(u)\nY = (u + 1) %*% v", CompileWhen::Always, {{"u", u}, {"v", v}});
  EXPECT_EQ(
      message.find("test.dml:2:13: %*%: needs 8.0 TB for a dense matrix of 1000000 x 1000000, "),
      0U)
      << message;
}

TEST(ScriptMemory, WhatStaysSparseNeedsLittle) {
  Ran ran = runScript(R"(
    Z = cbind(X, matrix(1, nrow(X), 1)); s = sum(Z); c = contains(target = X, pattern = NaN)
    R = replace(target = X, pattern = NaN, replacement = 1); v = sum(colVars(X)); i = sum(rowIndexMax(X))
    E = removeEmpty(target = rbind(X, matrix(1, 1, ncol(X))), margin = "rows"); Q = X / (rowSums(X) + 2)
    D = diag(matrix(2, nrow(X), 1)) %*% matrix(3, nrow(X), 2); d = sum(D)
    P = X[1:1000, ] %*% t(X[1:1000, ]); X[7, 8] = 3
  )",
                      CompileWhen::Worthwhile, {{"X", vast()}});
  EXPECT_EQ(ran.number("s"), 1e6);
  EXPECT_EQ(ran.number("v"), 0);
  EXPECT_EQ(ran.number("d"), 12e6);
  EXPECT_EQ(ran.number("i"), 1e12);
  EXPECT_TRUE(ran.variables.at("Z").sparse());
  EXPECT_EQ(ran.dense("E").elements(), 1'000'000);
  EXPECT_EQ(ran.variables.at("X").sparse()->nonzeros(), 1);
}

} // namespace
} // namespace headrace::script
