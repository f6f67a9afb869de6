//===- Hr.td - everything TableGen reads of the dialect -----------------------===//
include "dialect/HrDialect.td"
include "dialect/HrOps.td"
include "dialect/HrStructure.td"
