"""A small PyTorch network as a .pt2 file: it tags each word of a text, whatever the length.

python examples/cpp/export_tagger.py tagger.pt2
"""

import sys

import torch
from torch import nn


class Tagger(nn.Module):
    """An embedding, an attention layer and a score for each of three tags."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.head = nn.Linear(32, 3)

    def forward(self, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = self.head(self.layer(self.embedding(words)))
        return scores, scores.argmax(-1)


def main(path: str) -> None:
    torch.manual_seed(0)
    words = torch.arange(8)[None]
    length = torch.export.Dim("length", min=2, max=512)
    program = torch.export.export(Tagger().eval(), (words,), dynamic_shapes=({1: length},))
    torch.export.save(program, path)
    tags = program.module()(torch.arange(5)[None])[1]
    print(*tags[0].tolist())


if __name__ == "__main__":
    main(sys.argv[1])
