"""The exceptions of Headrace.

Everything that is the user's to mend is an `Error`; its message names the file, node or input, what
was expected and what was found. An `InternalError` is a defect of Headrace: please report it.
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
    """Base of all errors that the user can mend."""


class InvalidFileError(Error):
    """The file is damaged, or not of the kind expected."""


class InvalidModelError(Error):
    """The file can be read, but the program in it makes no sense."""


class InvalidScriptError(Error):
    """A script breaks a rule of its language; the message shows the place."""


class UnsupportedError(Error):
    """The program asks for something Headrace does not have."""


class InvalidArgumentError(Error, ValueError):
    """An argument or option has a value that is not allowed."""


class ShapeMismatchError(Error, ValueError):
    """An input has another shape than the program declares."""


class TypeMismatchError(Error, TypeError):
    """An input has another element type than the program declares."""


class MissingInputError(Error):
    """An input of the program was not given."""


class IoError(Error, OSError):
    """A file cannot be opened, read or written."""


class OutOfRangeError(Error, IndexError):
    """The data of a run hold an index or a class that does not exist."""


class TerminatedError(Error):
    """A run was ended by `RunOptions.terminate`."""


class DivisionByZeroError(Error, ZeroDivisionError):
    """The data of a run make integers be divided by 0."""


class InternalError(RuntimeError):
    """A defect of Headrace; the message says what to report."""
