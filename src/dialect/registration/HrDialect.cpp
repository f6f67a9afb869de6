// What the dialect has: attributes, types, and the operators of all families. No other directory
// includes this one, so that families need not be known to the rest of the dialect.
#include "dialect/ConstantPool.h"
#include "dialect/PatternSets.h"
#include "dialect/ops/folds/Folds.h"
#include "dialect/ops/systems/Systems.h"
#include "dialect/ops/trees/Trees.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialect/HrDialect.cpp.inc"
#include "dialect/HrEnums.cpp.inc"
#include "dialect/HrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/HrAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/HrTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/HrOps.cpp.inc"

namespace headrace {

namespace hr {
void HrDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/HrAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/HrTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/HrOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Systems.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Trees.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Folds.cpp.inc"
      >();
  addInterfaces<ConstantPool, PatternSets>();
}
} // namespace hr

} // namespace headrace
