// Reference results of operators, by loops over their plain numbers, and a way to run them.
#pragma once

#include "runtime/vta/Examples.h"
#include "runtime/vta/Simulator.h"
#include "target/vta/schedule/Layers.h"
#include "target/vta/schedule/choose/ProposeSchedule.h"
#include "target/vta/schedule/write/WriteCommands.h"

namespace headrace::vta::test {

/// inputs[0] is the operator's, the others those that stages name.
Tensor expectedOf(const Operator &op, const std::vector<Tensor> &inputs);

/// Random inputs of the operator, the same for the same seed.
std::vector<Tensor> randomInputs(const Operator &op, uint64_t seed);

/// The program of the operator alone: inputs "x", "x1" and so on, the output "y".
Program programOf(const Operator &op, const Schedule &schedule, const Configuration &configuration,
                  const std::vector<Tensor> &inputs);
Tensor outputOf(const Program &program, const Simulation &simulation, std::string_view name = "y");

/// Runs the schedule on random inputs: the results are right, and the cycles possible.
Simulation expectRight(const Operator &op, const Schedule &schedule,
                       const Configuration &configuration, uint64_t seed = 1);

/// The layer with random weights.
Operator convolutionOf(const Layer &layer, int64_t batch);
/// a * w^T of matrices, the same stages.
Operator denseOf(int64_t rows, int64_t columns, int64_t depth);

} // namespace headrace::vta::test
