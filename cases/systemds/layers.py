"""Scripts over the layers of neural networks that the language itself has."""

from __future__ import annotations

from collections.abc import Iterator

# images, channels, height, width; filters, height and width of the window; strides; paddings
SHAPES = ((2, 1, 4, 4, 2, 2, 2, 1, 1, 0, 0), (2, 1, 4, 4, 2, 2, 2, 1, 1, 1, 1), (2, 2, 3, 3, 3, 2, 2, 1, 2, 1, 0),
          (1, 2, 4, 3, 1, 2, 3, 2, 1, 1, 2), (2, 3, 4, 6, 2, 2, 3, 2, 3, 0, 0), (3, 1, 5, 4, 2, 3, 3, 2, 2, 1, 1), (1, 1, 3, 3, 1, 5, 5, 1, 1, 0, 0))  # fmt: skip


def counting(rows: int, cols: int, scale: str = "") -> str:
    return f"matrix(seq(1, {rows * cols}), {rows}, {cols}){scale}"


def convolutions() -> Iterator[str]:
    for n, c, h, w, k, r, s, sh, sw, ph, pw in SHAPES:
        images, filters = counting(n, c * h * w), counting(k, c * r * s, " - 5")
        places = max(0, (h + 2 * ph - r) // sh + 1) * max(0, (w + 2 * pw - s) // sw + 1)
        gradient = counting(n, max(1, k * places), " * 0.5")
        rest = f"input_shape=[{n},{c},{h},{w}], filter_shape=[{k},{c},{r},{s}], stride=[{sh},{sw}], padding=[{ph},{pw}]"
        yield f"y = conv2d({images}, {filters}, {rest})"
        yield f"y = conv2d({images} - 7, {filters}, {rest})"
        yield f"y = conv2d_backward_filter({images}, {gradient}, {rest})"
        yield f"y = conv2d_backward_data({filters}, {gradient}, {rest})"


def pools() -> Iterator[str]:
    for n, c, h, w, _, r, s, sh, sw, ph, pw in SHAPES[:-1]:
        places = ((h + 2 * ph - r) // sh + 1) * ((w + 2 * pw - s) // sw + 1)
        gradient = counting(n, c * places, " * 0.5")
        rest = f"input_shape=[{n},{c},{h},{w}], pool_size=[{r},{s}], stride=[{sh},{sw}], padding=[{ph},{pw}]"
        for images in (
            counting(n, c * h * w),
            counting(n, c * h * w, " %% 5 - 3"),
            f"matrix(-2, {n}, {c * h * w})",
        ):
            for kind in ("max", "avg"):
                yield f"y = {kind}_pool({images}, {rest})"
                # Where windows overlap, SystemDS keeps the last of a cell's gradients.
                if kind == "avg" or (sh >= r and sw >= s):
                    yield f"y = {kind}_pool_backward({images}, {gradient}, {rest})"


def channels() -> Iterator[str]:
    column = 'matrix("1 2", 2, 1)'
    for function in ("bias_add", "bias_multiply"):
        yield f"y = {function}({counting(2, 8)}, {column})"
        yield f"y = {function}({counting(2, 7)}, {column})"
    rest = f'{counting(2, 8)}, {column}, {column} * 3, {column} - 1, {column}, "%s", 1e-3, 0.9'
    for mode in ("train", "test"):
        # The last but one is left out: in training SystemDS moves the variance by the mean.
        for results in ("y, a, b, d, e", "a, y, b, d, e", "a, b, d, y, e", "a, b, d, e, y"):
            yield f"[{results}] = batch_norm2d({rest % mode})"
    backward = f"{counting(2, 8)}, {counting(2, 8)}^2, {column}, 1e-3, {column}, {column}"
    for results in ("y, a, b", "a, y, b", "a, b, y"):
        yield f"[{results}] = batch_norm2d_backward({backward})"


def recurrences() -> Iterator[str]:
    data = f"{counting(2, 6, ' %% 5 - 2')} * 0.3, {counting(5, 12, ' %% 7 - 3')} * 0.2, {counting(1, 12)} * 0.05"
    states = f"{counting(2, 3)} * 0.1, {counting(2, 3)} * 0.2 - 0.5"
    for sequences, columns in (("TRUE", 9), ("FALSE", 3)):
        for results in (
            "y, a, b, d, e",
            "a, y, b, d, e",
            "a, b, y, d, e",
            "a, b, d, y, e",
            "a, b, d, e, y",
        ):
            yield f"[{results}] = lstm({data}, {states}, {sequences})"
        forward = f"[o, s, c1, c2, c3] = lstm({data}, {states}, {sequences})"
        gradients = f"{counting(2, columns)} * 0.1, {counting(2, 3)} * 0.3, c1, c2, c3"
        for results in (
            "y, a, b, d, e",
            "a, y, b, d, e",
            "a, b, y, d, e",
            "a, b, d, y, e",
            "a, b, d, e, y",
        ):
            yield f"{forward}\n[{results}] = lstm_backward({data}, {states}, {sequences}, {gradients})"


def transforms() -> Iterator[str]:
    for rows, cols in ((1, 8), (8, 1), (4, 4), (2, 16), (1, 1), (3, 4)):
        re, im = counting(rows, cols, " %% 5"), counting(rows, cols, " %% 3 - 1")
        for results in ("y, a", "a, y"):
            yield f"[{results}] = fft({re})"
            yield f"[{results}] = ifft({re}, {im})"
            yield f"[{results}] = fft_linearized({re})"
            yield f"[{results}] = ifft_linearized({re}, {im})"


def labelled_products() -> Iterator[str]:
    a, b, square = counting(2, 3, " - 4"), counting(3, 2, " %% 4"), counting(3, 3, " %% 5")
    yield f'y = einsum("ij,jk->ik", {a}, {b})'
    yield f'y = einsum("ij,ij->", {a}, {a})'
    yield f'y = einsum("ij->ji", {a})'
    yield f'y = einsum("ij,ik->jk", {a}, {a})'
    yield f'y = einsum("ii->i", {square})'
    yield f'y = einsum("ij,jk,kl->il", {square}, {square}, {square})'
    yield f"y = sqrtMatrixJava(({square}) %*% t({square}))"
    yield 'y = sqrtMatrixJava(matrix("4 1 1 3", 2, 2))'


FAMILIES = (convolutions, pools, channels, recurrences, transforms, labelled_products)
