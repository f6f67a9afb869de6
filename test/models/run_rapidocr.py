"""Reads the text of an image with rapidocr: python run_rapidocr.py MODULE, the module that stands in for onnxruntime.
Prints texts, scores and boxes as JSON."""

from __future__ import annotations

import importlib
import json
import logging
import sys

sys.modules["onnxruntime"] = importlib.import_module(sys.argv[1])
logging.disable(logging.INFO)

import cv2  # noqa: E402
import numpy as np  # noqa: E402
from rapidocr import RapidOCR  # noqa: E402

image = np.full((120, 420, 3), 255, np.uint8)
cv2.putText(image, "Headrace 2024", (15, 75), cv2.FONT_HERSHEY_SIMPLEX, 1.6, (0, 0, 0), 3)
found = RapidOCR(params={"EngineConfig.onnxruntime.intra_op_num_threads": 1})(image)
print(json.dumps([list(found.txts), list(found.scores), found.boxes.tolist()]))
