"""The exceptions of Headrace.

`Error` covers everything that the user can fix; its message names the file, node or input, what was
expected and what was given. An `InternalError` is a defect of Headrace: please report it.
"""

from __future__ import annotations

__all__ = [
    "DivisionByZeroError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "InvalidFileError",
    "InvalidModelError",
    "InvalidScriptError",
    "IoError",
    "MissingInputError",
    "OutOfRangeError",
    "ShapeMismatchError",
    "TerminatedError",
    "TypeMismatchError",
    "UnsupportedError",
]


class Error(RuntimeError):
    """Base of all errors that the user can fix."""


class InvalidFileError(Error):
    """A file is damaged, or not of the expected kind."""


class InvalidModelError(Error):
    """A model can be read, but is invalid; the message names the node."""


class InvalidScriptError(Error):
    """A script violates a rule of its language; the message has line and column."""


class UnsupportedError(Error):
    """The program uses an unsupported feature, or the machine lacks a device or library."""


class InvalidArgumentError(Error, ValueError):
    """An argument or option has an invalid value."""


class ShapeMismatchError(Error, ValueError):
    """An input has another shape than the program declares."""


class TypeMismatchError(Error, TypeError):
    """An input has another element type than the program declares."""


class MissingInputError(Error):
    """A required input is missing."""


class IoError(Error, OSError):
    """A file cannot be opened, read or written."""


class OutOfRangeError(Error, IndexError):
    """The data contain an index or a class that is out of range."""


class TerminatedError(Error):
    """A run was ended by `RunOptions.terminate`."""


class DivisionByZeroError(Error, ZeroDivisionError):
    """The data cause an integer division by zero."""


class InternalError(RuntimeError):
    """A defect of Headrace; the message says what to report."""
