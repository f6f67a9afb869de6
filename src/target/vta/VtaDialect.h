// The dialect `vta`: a kernel's module lists its instructions at level 4.
#pragma once

#include "target/vta/VtaDialect.h.inc"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "target/vta/VtaOps.h.inc"
