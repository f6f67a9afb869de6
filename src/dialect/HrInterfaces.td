//===- HrInterfaces.td - what every operator carries -------------------------===//
#ifndef HEADRACE_DIALECT_HRINTERFACES_TD
#define HEADRACE_DIALECT_HRINTERFACES_TD

include "mlir/IR/OpBase.td"

def Hr_OperatorInterface : OpInterface<"OperatorInterface"> {
  let cppNamespace = "::headrace::hr";
  let description = [{
    An operator of level 1. Its shape rule is the operation's `inferReturnTypes`; the methods here
    are everything else the compiler asks of it.
  }];
  let methods = [
    InterfaceMethod<[{
      Data movement: the iteration domain and which elements of each operand and result every
      point of it touches. Sizes are expressions over the program's symbols.
    }], "::headrace::Movement", "getMovement">,
    InterfaceMethod<[{
      Reference evaluation: plain loops, floating-point values held in double precision
      (`DType::F64`), integers in `DType::I64`, booleans in `DType::Bool`. Every compiled result is
      compared with it. `symbols` are the values of the program's symbolic sizes.
    }], "::headrace::Tensor", "evaluate",
      (ins "::llvm::ArrayRef<::headrace::Tensor>":$inputs, "::llvm::ArrayRef<int64_t>":$symbols)>,
    InterfaceMethod<[{
      Level 2, structured operators: the scalar computation at one point of the domain, from one
      scalar per operand (and the accumulator, for reductions). With the movement's maps it is a
      `linalg.generic`.
    }], "::mlir::Value", "buildBody",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$scalars), [{}],
      /*defaultImplementation=*/[{ return {}; }]>,
    InterfaceMethod<[{
      The initial value of a structured reduction's accumulator; null when nothing is reduced.
    }], "::mlir::TypedAttr", "getInitialValue", (ins), [{}],
      /*defaultImplementation=*/[{ return {}; }]>,
    InterfaceMethod<[{
      Level 2, operators whose data accesses are not affine: writes the operator over plain tensors
      and returns its result; failure if it must be rewritten at level 1 first.
    }], "::mlir::FailureOr<::mlir::Value>", "lowerToLinalg",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$inputs), [{}],
      /*defaultImplementation=*/[{ return ::mlir::failure(); }]>,
    InterfaceMethod<[{
      Level 1: writes the operator in terms of finer operators and returns the value that replaces
      it; failure when it has no expansion.
    }], "::mlir::FailureOr<::mlir::Value>", "expand", (ins "::mlir::OpBuilder &":$builder), [{}],
      /*defaultImplementation=*/[{ return ::mlir::failure(); }]>,
    InterfaceMethod<[{
      Reverse-mode gradient: given the gradient of the result, the gradients of the operands (null
      where an operand has none). Failure when the operator has no gradient.
    }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "gradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$resultGradient), [{}],
      /*defaultImplementation=*/[{ return ::mlir::failure(); }]>,
    InterfaceMethod<[{
      Whether its windows reach beyond its input, into padding that no map can read.
    }], "bool", "isPadded", (ins), [{}], /*defaultImplementation=*/[{ return false; }]>,
    InterfaceMethod<[{
      Whether an element of the result sums many of the operands': half precision is too little for
      the sum, and `compute-in-f32` widens it.
    }], "bool", "addsUp", (ins), [{}], /*defaultImplementation=*/[{ return false; }]>,
    InterfaceMethod<[{
      The part it plays in the fused kernel it joins.
    }], "::headrace::FusionRole", "getFusionRole", (ins), [{}],
      /*defaultImplementation=*/[{ return ::headrace::FusionRole::Other; }]>,
    InterfaceMethod<[{
      How it takes part in the choice of a layout for images.
    }], "::headrace::LayoutRole", "getLayoutRole", (ins), [{}],
      /*defaultImplementation=*/[{ return {}; }]>,
    InterfaceMethod<[{
      Whether an operand of an operator that works in either layout is an image, not a filter or a
      list of parameters.
    }], "bool", "isImageOperand", (ins "unsigned":$index), [{}],
      /*defaultImplementation=*/[{ return true; }]>,
    InterfaceMethod<[{
      Permutes the dimensions of its images, dimension i being the former permutation[i]: its
      attributes follow. Types and operands are the caller's.
    }], "void", "permute", (ins "::llvm::ArrayRef<int64_t>":$permutation), [{}],
      /*defaultImplementation=*/[{ (void)permutation; }]>,
  ];
  let extraClassDeclaration = [{
    /// Whether maps and body say everything: a `linalg.generic`, free to fuse.
    bool isStructured();
  }];
}

#endif
