// The dialect `hr`: operators, kernels, and the interface every operator implements.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

// They name MLIR's classes.
#include "dialect/HrDialect.h.inc"
#include "dialect/HrEnums.h.inc"
#include "dialect/Movement.h"
#include "dialect/Roles.h"
#include "runtime/tensor/Tensor.h"

namespace headrace {
struct ValueCheck;
} // namespace headrace

#define GET_ATTRDEF_CLASSES
#include "dialect/HrAttrs.h.inc"
#include "dialect/HrInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/HrTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/HrOps.h.inc"

namespace headrace {

/// The function attribute that names the program's dynamic dimensions, in order.
inline constexpr llvm::StringLiteral kSymbolsAttr = "hr.symbols";
/// Function attributes: the least and greatest value of each dynamic dimension for which the
/// program is meant; absent if any will do. A program must not run outside them: slices rely on it.
inline constexpr llvm::StringLiteral kSymbolMinAttr = "hr.symbol_min";
inline constexpr llvm::StringLiteral kSymbolMaxAttr = "hr.symbol_max";
/// Operator attributes: the names by which recipes speak of an operator and of the dimensions of
/// its iteration domain.
inline constexpr llvm::StringLiteral kStageAttr = "hr.stage";
inline constexpr llvm::StringLiteral kAxesAttr = "hr.axes";
/// Argument and result attribute: the user's name of an input or output.
inline constexpr llvm::StringLiteral kNameAttr = "hr.name";
/// Argument and result attribute: the element type the user sees, if the program holds the
/// numbers as others (`legalize-types`).
inline constexpr llvm::StringLiteral kTypeAttr = "hr.type";

/// The user's name of an operator, from its location; its kind if it has none.
std::string operatorName(mlir::Operation *op);

namespace hr {
/// Whether no data can break the check: its elements are those of a constant, all of them allowed,
/// maybe moved.
bool isAlwaysMet(CheckOp check);
} // namespace hr

/// The name of a kernel built around `op`: the operator's, with what part of it the kernel does
/// if the compiler made several of one (padding, a change of layout).
std::string kernelName(mlir::Operation *op);

/// Writes a map whose body is built by `body` from one scalar per input.
mlir::Value createMap(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)> body);

} // namespace headrace
