// Programs as task graphs: every operator in the form that is chosen for it.
#pragma once

#include "explore/operators/Operators.h"

#include <optional>

namespace headrace::explore {

/// The forms that an operator can take; none if there is only one way to compute it.
std::vector<Form> formsOf(const Operator &op);

/// Points of the program's iteration domains, which the tasks of its graph have in all. Those of
/// linear systems depend on the factorization.
int64_t pointsOf(const OperatorGraph &program, const std::vector<Form> &forms);

/// The graph of the program, or of one operator alone, whose operands are inputs then. `forms` has
/// one for each operator, which counts only for those that have a choice.
TaskGraph taskGraphOf(const OperatorGraph &program, const std::vector<Form> &forms,
                      const TaskOptions &options, std::optional<int> only = std::nullopt);

} // namespace headrace::explore
