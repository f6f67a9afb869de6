"""Architectures in plain PyTorch, as users write them, and those that are exported to ONNX elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cases.exported.models import MODELS as EXPORTED
from cases.torch_models import MODELS
from cases.torch_zoo import Architecture, Inputs


class GraphConvolution(nn.Module):
    """Sums of neighbours along edges."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

    def spread(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        degree = (
            torch.zeros(x.shape[0], dtype=x.dtype)
            .index_add(0, target, x.new_ones(edges.shape[1]))
            .clamp(min=1)
        )
        return torch.zeros_like(x).index_add(0, target, x[source]) / degree[:, None]

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = F.relu(self.spread(self.first(x), edges))
        return self.spread(self.second(x), edges).log_softmax(-1)


class GraphAttention(nn.Module):
    """Weights of edges, normalized for each target by scattered maxima and sums."""

    def __init__(self) -> None:
        super().__init__()
        self.values, self.scores = nn.Linear(16, 32), nn.Linear(64, 1)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        x = self.values(x)
        score = F.leaky_relu(self.scores(torch.cat([x[source], x[target]], -1)), 0.2).squeeze(-1)
        top = x.new_full((x.shape[0],), -1e9).scatter_reduce(0, target, score.detach(), "amax")
        weight = (score - top[target]).exp()
        total = x.new_zeros(x.shape[0]).scatter_add(0, target, weight)
        return torch.zeros_like(x).index_add(
            0, target, x[source] * (weight / total[target])[:, None]
        )


class Autoencoder(nn.Module):
    """Variational, with convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(),
            nn.Linear(16 * 49, 16),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Linear(8, 16 * 49), nn.ReLU(), nn.Unflatten(1, (16, 7, 7)), nn.ConvTranspose2d(16, 8, 4, 2, 1),
            nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, log = self.encoder(x).chunk(2, -1)
        found = self.decoder(mean + torch.randn_like(mean) * (log / 2).exp())
        return found, -0.5 * (1 + log - mean.square() - log.exp()).sum(-1).mean()


class ResidualBlock(nn.Module):
    def __init__(self, width: int, time: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, width), nn.GroupNorm(4, width)
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, 1, 1), nn.Conv2d(width, width, 3, 1, 1)
        self.time = nn.Linear(time, width)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(t))[..., None, None]
        return x + self.conv2(F.silu(self.norm2(y)))


class DiffusionUNet(nn.Module):
    """Noise from an image and a time."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Conv2d(3, 16, 3, 1, 1), nn.Conv2d(16, 3, 3, 1, 1)
        self.down, self.up = nn.Conv2d(16, 32, 3, 2, 1), nn.Conv2d(48, 16, 3, 1, 1)
        self.high, self.low = ResidualBlock(16, 32), ResidualBlock(32, 32)
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        frequencies = torch.exp(torch.arange(16) * (-9.2 / 16)).to(x.dtype)
        angles = time[:, None] * frequencies
        t = torch.cat([angles.sin(), angles.cos()], -1)
        x = high = self.high(self.enter(x), t)
        x = self.low(self.down(x), t)
        flat = x.flatten(2).transpose(1, 2)
        x = x + self.attention(flat, flat, flat, need_weights=False)[0].transpose(1, 2).view_as(x)
        return self.leave(self.up(torch.cat([F.interpolate(x, scale_factor=2.0), high], 1)))


class StateSpace(nn.Module):
    """A selective state space, step by step."""

    def __init__(self, width: int = 16, state: int = 4) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.conv = nn.Conv1d(width, width, 3, padding=2, groups=width)
        self.delta, self.ends = nn.Linear(width, width), nn.Linear(width, 2 * state)
        self.decay = nn.Parameter(torch.arange(1.0, state + 1).log().repeat(width, 1))

    def forward(self, x: Tensor) -> Tensor:
        x, gate = self.enter(x).chunk(2, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        delta, (b, c) = F.softplus(self.delta(x)), self.ends(x).chunk(2, -1)
        state = x.new_zeros(x.shape[0], x.shape[2], self.decay.shape[1])
        found = []
        for i in range(x.shape[1]):
            step = delta[:, i, :, None]
            state = (
                torch.exp(-step * self.decay.exp()) * state
                + step * b[:, i, None] * x[:, i, :, None]
            )
            found.append((state * c[:, i, None]).sum(-1))
        return self.leave(torch.stack(found, 1) * F.silu(gate))


class Experts(nn.Module):
    """The two of four experts that a token's scores choose."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(16, 4)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        weight, chosen = self.gate(x).softmax(-1).topk(2, -1)
        share = torch.zeros_like(self.gate(x)).scatter(
            -1, chosen, weight / weight.sum(-1, keepdim=True)
        )
        return sum(expert(x) * share[..., i : i + 1] for i, expert in enumerate(self.experts))


class Siren(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 32), nn.Linear(32, 32), nn.Linear(32, 3)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = torch.sin(30 * layer(x))
        return self.layers[-1](x)


class Highway(nn.Module):
    """Characters to words: convolutions, maxima over time, a gate, and an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 8, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(8, 16, width, padding=width - 1) for width in (2, 3))
        self.gate, self.change = nn.Linear(32, 32), nn.Linear(32, 32)
        self.lstm = nn.LSTM(32, 16, batch_first=True)

    def forward(self, words: Tensor) -> Tensor:
        x = self.embedding(words.flatten(0, 1)).transpose(1, 2)
        x = torch.cat([conv(x).relu().amax(-1) for conv in self.convs], -1)
        gate = self.gate(x).sigmoid()
        x = gate * self.change(x).relu() + (1 - gate) * x
        return self.lstm(x.view(*words.shape[:2], -1))[0]


class Speech(nn.Module):
    """A spectrogram by convolution, downsampled, and a recurrent layer in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = nn.Conv1d(1, 32, 64, 32, bias=False)
        self.conv = nn.Sequential(
            nn.Conv1d(32, 32, 5, 2, 2), nn.BatchNorm1d(32), nn.Hardtanh(0, 20)
        )
        self.gru = nn.GRU(32, 16, bidirectional=True, batch_first=True)
        self.head = nn.Linear(32, 29)

    def forward(self, sound: Tensor) -> Tensor:
        x = torch.log1p(self.frames(sound[:, None]).square())
        return self.head(self.gru(self.conv(x).transpose(1, 2))[0]).log_softmax(-1)


class SetPooling(nn.Module):
    """Inducing points attend to a set."""

    def __init__(self) -> None:
        super().__init__()
        self.points = nn.Parameter(torch.randn(1, 4, 16))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(64, 3)

    def forward(self, x: Tensor, missing: Tensor) -> Tensor:
        points = self.points.expand(x.shape[0], -1, -1)
        return self.head(self.attention(points, x, x, key_padding_mask=missing)[0].flatten(1))


class Warp(nn.Module):
    """A spatial transformer: a grid from the image, and the image there."""

    def __init__(self) -> None:
        super().__init__()
        self.pose = nn.Sequential(
            nn.Conv2d(1, 4, 5, 4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 6)
        )

    def forward(self, x: Tensor) -> Tensor:
        pose = self.pose(x).view(-1, 2, 3) * 0.1 + torch.eye(2, 3).to(x.dtype)
        return F.grid_sample(
            x, F.affine_grid(pose, x.shape, align_corners=False), align_corners=False
        )


class Fourier(nn.Module):
    """Products in the frequency domain."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8, 9, 2) * 0.1)
        self.enter, self.leave = nn.Conv1d(1, 8, 1), nn.Conv1d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        spectrum = torch.fft.rfft(x)[..., :9]
        mixed = torch.einsum("bif,iof->bof", spectrum, torch.view_as_complex(self.weight))
        return self.leave(x + F.gelu(torch.fft.irfft(mixed, n=x.shape[-1])))


class Contrast(nn.Module):
    """Distances of two towers' results."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(16, 8), nn.Linear(12, 8)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x, y = F.normalize(self.one(x), dim=-1), F.normalize(self.other(y), dim=-1)
        scores = self.scale.exp() * x @ y.T
        return F.cross_entropy(scores, torch.arange(x.shape[0])), torch.cdist(x, y)


def edges() -> Inputs:
    return {"0": torch.randn(20, 16), "1": torch.randint(0, 20, (2, 60))}


def normal(*shapes: tuple[int, ...]) -> Callable[[], Inputs]:
    return lambda: {str(i): torch.randn(shape) for i, shape in enumerate(shapes)}


def transformer() -> nn.Module:
    return nn.Transformer(32, 4, 2, 2, 64, dropout=0.1, batch_first=True)


def encoder() -> nn.Module:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)


def generator() -> nn.Module:
    return nn.Sequential(
        nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip


def discriminator() -> nn.Module:
    norm = nn.utils.parametrizations.spectral_norm
    return nn.Sequential(
        norm(nn.Conv2d(3, 16, 4, 2, 1)), nn.LeakyReLU(0.2), norm(nn.Conv2d(16, 32, 4, 2, 1)), nn.LeakyReLU(0.2),
        nn.Flatten(), norm(nn.Linear(32 * 16, 1)),
    )  # fmt: skip


def architectures() -> Iterator[Architecture]:
    ours: dict[str, tuple[Callable[[], nn.Module], Callable[[], Inputs]]] = {
        "graph convolution": (GraphConvolution, edges),
        "graph attention": (GraphAttention, edges),
        "variational autoencoder": (Autoencoder, normal((2, 1, 28, 28))),
        "diffusion U-Net": (DiffusionUNet, normal((2, 3, 16, 16), (2,))),
        "state space": (StateSpace, normal((2, 12, 16))),
        "mixture of experts": (Experts, normal((2, 6, 16))),
        "siren": (Siren, normal((64, 2))),
        "highway": (Highway, lambda: {"0": torch.randint(0, 50, (2, 5, 7))}),
        "speech": (Speech, normal((2, 2048))),
        "set pooling": (
            SetPooling,
            lambda: {"0": torch.randn(2, 7, 16), "1": torch.arange(7).expand(2, 7) > 4},
        ),
        "spatial transformer": (Warp, normal((2, 1, 28, 28))),
        "Fourier operator": (Fourier, normal((2, 1, 32))),
        "contrastive towers": (Contrast, normal((8, 16), (8, 12))),
        "transformer": (transformer, normal((2, 9, 32), (2, 5, 32))),
        "transformer encoder": (encoder, normal((2, 9, 32))),
        "generator": (generator, normal((2, 16, 1, 1))),
        "discriminator": (discriminator, normal((2, 3, 16, 16))),
        "LSTM": (lambda: nn.LSTM(16, 16, 2, batch_first=True), normal((2, 9, 16))),
        "GRU": (lambda: nn.GRU(16, 16, bidirectional=True), normal((9, 2, 16))),
    }
    for name, (make, inputs) in ours.items():
        yield Architecture("plain", name, make, inputs)
    for name, (make, shape) in MODELS.items():
        yield Architecture("plain", f"small {name}", make, normal(shape))
    for name, each in EXPORTED.items():
        if name != "detector":  # its operator exists in ONNX only
            yield Architecture("plain", name, lambda each=each: each.build(True), feeds(each))


def feeds(each: object) -> Callable[[], Inputs]:
    def inputs() -> Inputs:
        arrays = each.inputs(True, each.sizes(True)[0]).values()
        return {str(i): torch.from_numpy(array) for i, array in enumerate(arrays)}

    return inputs
