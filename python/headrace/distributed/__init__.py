"""Headrace on several machines, with Ray as the engine (`pip install headrace[ray]`).

    import headrace as hr

    report = hr.distributed.map("digits.onnx", "images/", output="logits/")
    for result in hr.distributed.map("digits.onnx", images):      # arrays in, arrays out
        print(result.start, result.outputs["logits"].argmax(1))
    report = hr.distributed.train("training.py:training", (images, labels), batch=64)

Ray schedules the tasks, moves the data and replaces lost workers. Data and code travel as bytes of
files and NumPy buffers.
"""

from headrace.distributed._cluster import ClusterError
from headrace.distributed._map import Failure, MapReport, Result, map
from headrace.distributed._train import TrainingError, TrainReport, train
from headrace.distributed._training import Training

__all__ = [
    "ClusterError",
    "Failure",
    "MapReport",
    "Result",
    "TrainReport",
    "Training",
    "TrainingError",
    "map",
    "train",
]
