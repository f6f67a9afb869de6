//===- Operator.td - how operators of level 1 are defined ----------------------===//
#ifndef HEADRACE_DIALECT_OPS_OPERATOR_TD
#define HEADRACE_DIALECT_OPS_OPERATOR_TD

include "dialect/HrDialect.td"
include "dialect/HrInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// `methods` are those of the interface that the operator has in addition to movement and reference
// evaluation. `expand`: it is rewritten into finer ones at level 1. `buildBody`: movement and body
// say everything. `lowerToLinalg`: its movement is of its own kind.
class Hr_Operator<string mnemonic, list<string> methods, list<Trait> traits = []>
    : Hr_Op<mnemonic, traits # [Pure, DeclareOpInterfaceMethods<Hr_OperatorInterface, methods>]>;

#endif
