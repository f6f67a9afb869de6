"""Networks on words, sound and records."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        batch, length, width = x.shape
        apart = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        return apart.permute(2, 0, 3, 1, 4).unbind(0)

    def join(self, x: Tensor) -> Tensor:
        return self.out(x.transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.dense = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.attention.split(x)
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norms[0](x + self.attention.join(attended))
        return self.norms[1](x + self.dense(x))


class Bert(nn.Module):
    def __init__(self, words: int, longest: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.kinds, self.norm = nn.Embedding(2, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads) for _ in range(depth))
        self.pool = nn.Linear(width, width)

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(ids.shape[1]).unsqueeze(0)
        x = self.norm(self.words(ids) + self.places(places) + self.kinds(kinds))
        hidden = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, hidden)
        return x, torch.tanh(self.pool(x[:, 0]))


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.dense = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        q, k, v = self.attention.split(self.norms[0](x))
        keys, values = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        attended = functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        x = x + self.attention.join(attended)
        return x + self.dense(self.norms[1](x)), keys, values


class Decoder(nn.Module):
    """Scores of the next word; keys and values of the words before come in and grow."""

    def __init__(self, words: int, longest: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor, *cache: Tensor) -> tuple[Tensor, ...]:
        past, new = cache[0].shape[2], ids.shape[1]
        places = torch.arange(past, past + new)
        x = self.words(ids) + self.places(places)
        mask = torch.arange(past + new)[None, :] <= places[:, None]
        grown = []
        for i, layer in enumerate(self.layers):
            x, keys, values = layer(x, cache[2 * i], cache[2 * i + 1], mask)
            grown += [keys, values]
        return self.norm(x) @ self.words.weight.T, *grown


class Dlrm(nn.Module):
    """Numbers and categories of a record: embeddings, their products, and dense layers around."""

    def __init__(self, numbers: int, tables: int, rows: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(
            nn.Linear(numbers, 4 * width), nn.ReLU(), nn.Linear(4 * width, width), nn.ReLU()
        )
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(
            nn.Linear(width + pairs, 4 * width), nn.ReLU(), nn.Linear(4 * width, 1), nn.Sigmoid()
        )
        rows_of_pairs, columns_of_pairs = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("pairs", rows_of_pairs * (tables + 1) + columns_of_pairs)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        x = self.bottom(dense)
        # one category in each column: the sum of a bag of one
        looked_up = [
            functional.embedding(sparse[:, i], t.weight) for i, t in enumerate(self.tables)
        ]
        together = torch.stack([x, *looked_up], dim=1)
        products = torch.bmm(together, together.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, products[:, self.pairs]], dim=1))


class WaveNet(nn.Module):
    """Dilated causal convolutions with gates; every layer adds to what goes on and to the answer."""

    def __init__(self, width: int, classes: int, blocks: int, layers: int) -> None:
        super().__init__()
        self.dilations = [1 << layer for _ in range(blocks) for layer in range(layers)]
        self.first = nn.Conv1d(1, width, 1)
        self.gates = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 2, dilation=d) for d in self.dilations
        )
        self.on = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in self.dilations)
        self.out = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in self.dilations)
        self.end = nn.Sequential(
            nn.ReLU(), nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, classes, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        answer = torch.zeros_like(x)
        for dilation, gate, on, out in zip(self.dilations, self.gates, self.on, self.out):
            value, weight = gate(functional.pad(x, [dilation, 0])).chunk(2, dim=1)
            gated = torch.tanh(value) * torch.sigmoid(weight)
            answer = answer + out(gated)
            x = x + on(gated)
        return self.end(answer)


class Tagger(nn.Module):
    """A tag for every word, by an LSTM that reads in both directions."""

    def __init__(self, words: int, width: int, tags: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.recur = nn.LSTM(width, width, num_layers=2, bidirectional=True, batch_first=True)
        self.tag = nn.Linear(2 * width, tags)

    def forward(self, ids: Tensor) -> Tensor:
        return torch.log_softmax(self.tag(self.recur(self.words(ids))[0]), dim=-1)
