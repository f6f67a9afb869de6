"""Programs of the kind that users write, as ONNX graphs in text: where kernels can be formed in many ways."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cases import graph_text


@dataclass(frozen=True)
class Program:
    name: str
    text: str  # a graph in ONNX's textual syntax

    def write(self, folder: Path) -> Path:
        """The graph as a file; its nodes are called after their first results."""
        import onnx

        model = graph_text.parse(self.text, opset=18)
        for node in model.graph.node:
            node.name = node.name or node.output[0]
        onnx.checker.check_model(model)
        path = folder / f"{self.name}.onnx"
        onnx.save(model, str(path))
        return path


def weighted_chain(name: str, element: str, rows: int, columns: int) -> Program:
    """X' (w * (X v)): two products with one matrix."""
    return Program(
        name,
        f"""g ({element}[{rows},{columns}] X, {element}[{rows},1] w, {element}[{columns},1] v)
          => ({element}[{columns},1] r) {{
          xv = MatMul(X, v)
          wxv = Mul(w, xv)
          xt = Transpose <perm=[1,0]> (X)
          r = MatMul(xt, wxv)
        }}""",
    )


# Expressions of linear algebra over matrices that do not fit into caches.
EXPRESSIONS = (
    Program(
        "sum3",
        """g (double[200000,100] X, double[200000,100] Y, double[200000,100] Z) => (double s) {
          xy = Mul(X, Y)
          xyz = Mul(xy, Z)
          s = ReduceSum <keepdims=0> (xyz)
        }""",
    ),
    Program(
        "two_sums",
        """g (double[200000,100] X, double[200000,100] Y, double[200000,100] Z) => (double a, double b) {
          xy = Mul(X, Y)
          a = ReduceSum <keepdims=0> (xy)
          xz = Mul(X, Z)
          b = ReduceSum <keepdims=0> (xz)
        }""",
    ),
    weighted_chain("weighted_chain", "double", rows=200000, columns=100),
    Program(
        "chain_of_two_columns",
        """g (double[200000,100] X, double[100,2] V) => (double[100,2] r) {
          xv = MatMul(X, V)
          xt = Transpose <perm=[1,0]> (X)
          r = MatMul(xt, xv)
        }""",
    ),
    Program(
        "row_softmax",
        """g (double[100000,100] X) => (double[100000,100] r) {
          e = Exp(X)
          s = ReduceSum <keepdims=1> (e, last)
          r = Div(e, s)
        }""".replace("{", "<int64[1] last = {1}> {", 1),
    ),
    Program(
        "gram",
        """g (double[100000,100] X) => (double[100,100] r) {
          xt = Transpose <perm=[1,0]> (X)
          r = MatMul(xt, X)
        }""",
    ),
    Program(
        "log_product",
        """g (double[2000,2000] X, double[2000,100] U, double[2000,100] V) => (double s)
          <double eps = {1e-15}> {
          vt = Transpose <perm=[1,0]> (V)
          uv = MatMul(U, vt)
          uve = Add(uv, eps)
          l = Log(uve)
          p = Mul(X, l)
          s = ReduceSum <keepdims=0> (p)
        }""",
    ),
)

# Parts of models and training loops.
PROGRAMS = (
    Program(
        "attention_bias_mask",
        """g (float[8,256,64] q, float[8,256,64] k, float[8,256,64] v, float[8,256,256] bias,
              float[1,256,256] mask) => (float[8,256,64] r) <float scale = {0.125}> {
          kt = Transpose <perm=[0,2,1]> (k)
          s = MatMul(q, kt)
          scaled = Mul(s, scale)
          biased = Add(scaled, bias)
          masked = Add(biased, mask)
          p = Softmax <axis=-1> (masked)
          r = MatMul(p, v)
        }""",
    ),
    Program(
        "norm_mlp_residual",
        """g (float[512,256] x, float[512,256] skip, float[256] g1, float[256] b1, float[256,512] w1,
              float[512] c1, float[512,256] w2, float[256] c2) => (float[512,256] r) {
          sum = Add(x, skip)
          n = LayerNormalization <axis=-1> (sum, g1, b1)
          h = MatMul(n, w1)
          hb = Add(h, c1)
          a = Relu(hb)
          o = MatMul(a, w2)
          ob = Add(o, c2)
          r = Add(ob, sum)
        }""",
    ),
    Program(
        "gated_linear_unit",
        """g (float[256,256] x, float[256,512] w1, float[256,512] w2, float[512,256] w3) => (float[256,256] r) {
          a = MatMul(x, w1)
          b = MatMul(x, w2)
          s = Sigmoid(a)
          silu = Mul(a, s)
          h = Mul(silu, b)
          r = MatMul(h, w3)
        }""",
    ),
    Program(
        "rms_norm_rotary",
        """g (float[1024,8,64] x, float[64] gain, float[1024,1,32] cos, float[1024,1,32] sin)
          => (float[1024,8,64] r)
          <float eps = {1e-6}, int64[1] last = {2}, int64[1] zero = {0}, int64[1] half = {32}, int64[1] all = {64}> {
          xx = Mul(x, x)
          m = ReduceMean <keepdims=1> (xx, last)
          me = Add(m, eps)
          root = Sqrt(me)
          n = Div(x, root)
          y = Mul(n, gain)
          y1 = Slice(y, zero, half, last)
          y2 = Slice(y, half, all, last)
          c1 = Mul(y1, cos)
          s2 = Mul(y2, sin)
          r1 = Sub(c1, s2)
          c2 = Mul(y2, cos)
          s1 = Mul(y1, sin)
          r2 = Add(c2, s1)
          r = Concat <axis=2> (r1, r2)
        }""",
    ),
    Program(
        "cross_entropy",
        """g (float[2048,1000] logits, int64[2048,1] labels) => (float loss) {
          p = Softmax <axis=-1> (logits)
          l = Log(p)
          picked = GatherElements <axis=1> (l, labels)
          mean = ReduceMean <keepdims=0> (picked)
          loss = Neg(mean)
        }""",
    ),
    Program(
        "batch_norm_training",
        """g (float[16,56,56,64] x, float[64] gain, float[64] shift)
          => (float[16,56,56,64] r, float[1,1,1,64] mean, float[1,1,1,64] variance)
          <float eps = {1e-5}, int64[3] points = {0,1,2}> {
          mean = ReduceMean <keepdims=1> (x, points)
          xx = Mul(x, x)
          square = ReduceMean <keepdims=1> (xx, points)
          mm = Mul(mean, mean)
          variance = Sub(square, mm)
          ve = Add(variance, eps)
          root = Sqrt(ve)
          c = Sub(x, mean)
          n = Div(c, root)
          s = Mul(n, gain)
          y = Add(s, shift)
          r = Relu(y)
        }""",
    ),
    Program(
        "kmeans_step",
        """g (float[100000,16] X, float[32,16] C) => (float[32,16] sums, float[32,1] counts, float cost)
          <float two = {2.0}, float zero = {0.0}, float one = {1.0}, int64[1] first = {0}, int64[1] last = {1}> {
          ct = Transpose <perm=[1,0]> (C)
          xc = MatMul(X, ct)
          cc = Mul(C, C)
          c2 = ReduceSum <keepdims=1> (cc, last)
          c2t = Transpose <perm=[1,0]> (c2)
          xc2 = Mul(xc, two)
          d = Sub(c2t, xc2)
          least = ReduceMin <keepdims=1> (d, last)
          near = LessOrEqual(d, least)
          p = Where(near, one, zero)
          pt = Transpose <perm=[1,0]> (p)
          sums = MatMul(pt, X)
          count = ReduceSum <keepdims=1> (p, first)
          counts = Transpose <perm=[1,0]> (count)
          cost = ReduceSum <keepdims=0> (least)
        }""",
    ),
    Program(
        "logistic_gradient",
        """g (float[100000,64] X, float[100000,1] y, float[64,1] w) => (float[64,1] gradient, float loss) {
          z = MatMul(X, w)
          p = Sigmoid(z)
          d = Sub(p, y)
          xt = Transpose <perm=[1,0]> (X)
          gradient = MatMul(xt, d)
          soft = Softplus(z)
          yz = Mul(y, z)
          each = Sub(soft, yz)
          loss = ReduceMean <keepdims=0> (each)
        }""",
    ),
    Program(
        "pca_covariance",
        """g (float[50000,64] X) => (float[64,64] covariance, float[1,64] mean) <int64[1] first = {0}> {
          mean = ReduceMean <keepdims=1> (X, first)
          c = Sub(X, mean)
          ct = Transpose <perm=[1,0]> (c)
          covariance = MatMul(ct, c)
        }""",
    ),
    Program(
        "pairwise_kernel",
        """g (float[1024,32] X, float[1024,32] Y) => (float[1024,1024] r)
          <float two = {2.0}, float gamma = {-0.1}, int64[1] last = {1}> {
          xx = Mul(X, X)
          x2 = ReduceSum <keepdims=1> (xx, last)
          yy = Mul(Y, Y)
          y2 = ReduceSum <keepdims=1> (yy, last)
          y2t = Transpose <perm=[1,0]> (y2)
          yt = Transpose <perm=[1,0]> (Y)
          xy = MatMul(X, yt)
          xy2 = Mul(xy, two)
          norms = Add(x2, y2t)
          d = Sub(norms, xy2)
          s = Mul(d, gamma)
          r = Exp(s)
        }""",
    ),
    Program(
        "mixer_block",
        """g (float[4,196,256] x, float[256] gain, float[256] shift, float[196,128] w1, float[128,196] w2)
          => (float[4,196,256] r) {
          n = LayerNormalization <axis=-1> (x, gain, shift)
          t = Transpose <perm=[0,2,1]> (n)
          h = MatMul(t, w1)
          a = Relu(h)
          o = MatMul(a, w2)
          back = Transpose <perm=[0,2,1]> (o)
          r = Add(x, back)
        }""",
    ),
    Program(
        "squeeze_excite",
        """g (float[8,28,28,192] x, float[192,48] w1, float[48,192] w2) => (float[8,28,28,192] r)
          <int64[2] points = {1,2}, int64[4] spread = {8,1,1,192}, int64[2] flat = {8,192}> {
          pooled = ReduceMean <keepdims=0> (x, points)
          h = MatMul(pooled, w1)
          a = Relu(h)
          o = MatMul(a, w2)
          s = Sigmoid(o)
          gate = Reshape(s, spread)
          r = Mul(x, gate)
        }""",
    ),
    Program(
        "standardize_columns",
        """g (float[200000,32] X) => (float[200000,32] r) <float eps = {1e-5}, int64[1] first = {0}> {
          mean = ReduceMean <keepdims=1> (X, first)
          c = Sub(X, mean)
          cc = Mul(c, c)
          variance = ReduceMean <keepdims=1> (cc, first)
          ve = Add(variance, eps)
          root = Sqrt(ve)
          r = Div(c, root)
        }""",
    ),
    Program(
        "adam_step",
        """g (float[1000000] w, float[1000000] grad, float[1000000] m, float[1000000] v)
          => (float[1000000] w1, float[1000000] m1, float[1000000] v1)
          <float b1 = {0.9}, float n1 = {0.1}, float b2 = {0.999}, float n2 = {0.001}, float lr = {0.001},
           float eps = {1e-8}> {
          mb = Mul(m, b1)
          gb = Mul(grad, n1)
          m1 = Add(mb, gb)
          vb = Mul(v, b2)
          gg = Mul(grad, grad)
          gv = Mul(gg, n2)
          v1 = Add(vb, gv)
          root = Sqrt(v1)
          re = Add(root, eps)
          step = Div(m1, re)
          scaled = Mul(step, lr)
          w1 = Sub(w, scaled)
        }""",
    ),
    Program(
        "group_norm_silu",
        """g (float[8,32,3136] x, float[1,32,1] gain, float[1,32,1] shift) => (float[8,32,3136] r)
          <float eps = {1e-5}, int64[1] last = {2}> {
          mean = ReduceMean <keepdims=1> (x, last)
          c = Sub(x, mean)
          cc = Mul(c, c)
          variance = ReduceMean <keepdims=1> (cc, last)
          ve = Add(variance, eps)
          root = Sqrt(ve)
          n = Div(c, root)
          s = Mul(n, gain)
          y = Add(s, shift)
          g1 = Sigmoid(y)
          r = Mul(y, g1)
        }""",
    ),
    Program(
        "variational_loss",
        """g (float[4096,256] mu, float[4096,256] logvar, float[4096,256] noise)
          => (float[4096,256] z, float kl) <float half = {0.5}, float one = {1.0}, int64[1] last = {1}> {
          h = Mul(logvar, half)
          sd = Exp(h)
          sn = Mul(sd, noise)
          z = Add(mu, sn)
          var = Exp(logvar)
          mm = Mul(mu, mu)
          a = Add(var, mm)
          b = Sub(a, one)
          c = Sub(b, logvar)
          d = Mul(c, half)
          row = ReduceSum <keepdims=1> (d, last)
          kl = ReduceMean <keepdims=0> (row)
        }""",
    ),
)

BY_NAME = {program.name: program for program in EXPRESSIONS + PROGRAMS}
