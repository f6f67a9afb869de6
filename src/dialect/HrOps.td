//===- HrOps.td - operators of level 1, by families ----------------------------===//
#ifndef HEADRACE_DIALECT_HROPS_TD
#define HEADRACE_DIALECT_HROPS_TD

include "dialect/ops/values/Values.td"
include "dialect/ops/maps/Maps.td"
include "dialect/ops/reductions/Reductions.td"
include "dialect/ops/contraction/Contraction.td"
include "dialect/ops/windows/Windows.td"
include "dialect/ops/normalization/Normalization.td"
include "dialect/ops/attention/Attention.td"
include "dialect/ops/movement/Movement.td"
include "dialect/ops/indexing/Indexing.td"
include "dialect/ops/compute/Compute.td"
include "dialect/ops/recurrence/Recurrence.td"

#endif
