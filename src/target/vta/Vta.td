//===- Vta.td - commands of the VTA accelerator, as level 4 shows them --------===//
#ifndef HEADRACE_TARGET_VTA_VTA_TD
#define HEADRACE_TARGET_VTA_VTA_TD

include "mlir/IR/OpBase.td"

def Vta_Dialect : Dialect {
  let name = "vta";
  let cppNamespace = "::headrace::vta";
  let summary = "kernels as instructions of the VTA accelerator";
}

def Vta_CommandOp : Op<Vta_Dialect, "command"> {
  let summary = "one instruction, disassembled";
  let arguments = (ins StrAttr:$text);
  let assemblyFormat = "$text attr-dict";
}

#endif
