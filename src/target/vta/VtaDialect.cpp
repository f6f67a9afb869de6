#include "target/vta/VtaDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

#include "target/vta/VtaDialect.cpp.inc"

#define GET_OP_CLASSES
#include "target/vta/VtaOps.cpp.inc"

void headrace::vta::VtaDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "target/vta/VtaOps.cpp.inc"
      >();
}
