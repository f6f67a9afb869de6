// Conditions on the integer of a chain, and what is selected by them: clips, in the end.
#pragma once

#include "target/vta/fixed/IntegerStages.h"
#include "target/vta/fixed/Relation.h"

namespace headrace::vta {

// The following reject scalars of the integers from before a stage. They throw Unsupported.

Scalar condition(Piecewise<bool> truth, const IntegerStages &integers);
Scalar compare(Relation relation, const Scalar &a, const Scalar &b, const IntegerStages &integers);
Scalar select(const Scalar &chosen, const Scalar &yes, const Scalar &no,
              const IntegerStages &integers);
Scalar largerOf(const Scalar &a, const Scalar &b, const IntegerStages &integers);
Scalar smallerOf(const Scalar &a, const Scalar &b, const IntegerStages &integers);
/// `function` of two conditions.
Scalar logic(const Scalar &a, const Scalar &b, bool (*function)(bool, bool),
             const IntegerStages &integers);

} // namespace headrace::vta
