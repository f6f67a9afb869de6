"""Headrace on several machines, with Ray as the engine (`pip install headrace[ray]`).

    import headrace as hr

    report = hr.distributed.map("digits.onnx", "images/", output="logits/")
    for result in hr.distributed.map("digits.onnx", images):      # arrays in, arrays out
        print(result.start, result.outputs["logits"].argmax(1))

Ray schedules the tasks, moves the data and replaces lost workers. Data and code travel as bytes of
files and NumPy buffers.
"""

from headrace.distributed._cluster import ClusterError
from headrace.distributed._map import Failure, MapReport, Result, map

__all__ = ["ClusterError", "Failure", "MapReport", "Result", "map"]
