"""Networks for the tests of PyTorch's face."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    def __init__(self, size: int = 28, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * (size // 4) ** 2, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


class SmallConvNet(nn.Module):
    """With batch normalization, a residual and a mean over positions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(self.norm2(self.conv2(x)) + x)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class BertLayer(nn.Module):
    """One encoder layer of BERT, with its embedding of positions left out."""

    def __init__(self, width: int = 32, heads: int = 4, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output = nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape

        def split(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        scores = split(self.query(x)) @ split(self.key(x)).transpose(-1, -2)
        weights = self.dropout((scores / (width // self.heads) ** 0.5).softmax(-1))
        mixed = (weights @ split(self.value(x))).transpose(1, 2).reshape(batch, length, width)
        x = self.norm1(x + self.dropout(self.output(mixed)))
        return self.norm2(x + self.dropout(self.down(F.gelu(self.up(x)))))


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 5)
    )


#: Name, module, shape of its input.
MODELS = {
    "mlp": (mlp, (6, 20)),
    "lenet": (LeNet, (4, 1, 28, 28)),
    "convnet": (SmallConvNet, (4, 3, 8, 8)),
    "bert": (BertLayer, (2, 7, 32)),
    "encoder": (
        lambda: nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True),
        (2, 7, 32),
    ),
}
