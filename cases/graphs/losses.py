"""Losses of classes: targets are exact, and within the number of classes or ignored."""

from __future__ import annotations

import math

import numpy as np

from cases.graphs.builder import Builder, Skip
from cases.graphs.values import Range, Value

SINGLE = np.dtype(np.float32)
TARGETS = [np.dtype(np.int64), np.dtype(np.int32)]


def loss(op: str):
    def make(b: Builder) -> Value:
        if b.opset < 13:
            raise Skip("a later version has it")
        batch, *sizes = b.dims(b.integer(1, 3))
        classes = b.integer(1, 9)
        x = b.pick([SINGLE], dims=[batch, classes, *sizes], low=-8, high=8)
        target = b.leaf(b.choose(TARGETS), [batch, *sizes], 0, classes - 1, constant=False)
        weighted = b.chance(0.5)
        inputs = [x, target]
        if weighted:
            inputs.append(b.leaf(SINGLE, [classes], 0.25, 4))
        attributes = {"reduction": b.choose(["none", "sum", "mean"])}
        if b.chance(0.4):
            attributes["ignore_index"] = b.integer(0, classes - 1)
        count = max(math.prod(target.shape), 1)
        if attributes["reduction"] == "mean" and (
            target.elements == 0 or "ignore_index" in attributes
        ):
            raise Skip("a mean of nothing")
        each = 4 * (x.bound + (17 + math.log(classes) if op == "SoftmaxCrossEntropyLoss" else 0))
        bound = each * count if attributes["reduction"] == "sum" else 4 * each
        error = 16 * (x.error + (classes + count + 16) * max(each, 1)) * count
        dims = target.dims if attributes["reduction"] == "none" else ()
        return b.node(op, inputs, SINGLE, dims, Range(-bound, bound, error=error), **attributes)

    return make


LOSSES = {op: loss(op) for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")}
