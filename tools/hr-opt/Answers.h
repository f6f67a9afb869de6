// Passes for tests: does a pipeline keep what a program computes?
#pragma once

/// Registers two passes over functions. `keep-answers` evaluates a function by the reference on
/// numbers made for its inputs and keeps the results in an attribute; `compare-answers` evaluates
/// it again, fails if the results are other ones, and drops the attribute. Functions may be of
/// level 1 or 2.
namespace headrace {
void registerAnswerPasses();
} // namespace headrace
