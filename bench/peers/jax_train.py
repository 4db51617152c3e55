"""Trains a model by JAX (XLA) on random data and tells how many images, or tokens for gpt, a second it manages.

The protocol is that of pytorch_train.py. A step is one compiled function whose parameters are given away (donated): batch, forward, loss, gradient, SGD with
momentum and weight decay. Images are (N, H, W, C), XLA's fastest order on a CPU. bfloat16: float32 masters, products and convolutions in bfloat16.
"""

import argparse
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from windows import serve

RATE, MOMENTUM, WEIGHT_DECAY = 0.01, 0.9, 1e-4
MODELS = ("mlp", "lenet", "resnet20", "resnet32", "gpt")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--sample", type=int, nargs="+", required=True, help="C H W of images, or T of tokens")
    parser.add_argument("--count", type=int, required=True, help="samples in memory")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    return parser.parse_args()


class Parameters:
    """Makes parameters by name on the first pass, and gives them back afterwards, as `type`."""

    def __init__(self, values=None, type=jnp.float32):
        self.values, self.making, self.type, self.random = values or {}, values is None, type, np.random.default_rng(1)

    def __call__(self, name, shape, scale=None, type=None):
        if self.making:
            deviation = (2 / np.prod(shape[:-1])) ** 0.5 if scale is None else scale
            self.values[name] = jnp.asarray(deviation * self.random.standard_normal(shape), jnp.float32)
        return self.values[name].astype(type or self.type)


def linear(p, name, x, units):
    return x @ p(name + ".w", (x.shape[-1], units)) + p(name + ".b", (units,), 0)


def convolution(p, name, x, filters, kernel, stride=1, padding=0, bias=False):
    w = p(name + ".w", (kernel, kernel, x.shape[-1], filters))
    y = lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y + p(name + ".b", (filters,), 0) if bias else y


def pooled(x):
    """The greatest of 2x2. By a reshape, whose gradient XLA compiles to faster code than that of reduce_window."""
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def batch_norm(p, name, x):
    mean = x.mean((0, 1, 2), dtype=jnp.float32)
    variance = jnp.square(x.astype(jnp.float32)).mean((0, 1, 2)) - jnp.square(mean)
    scale = (1 + p(name + ".g", (x.shape[-1],), 0, jnp.float32)) * lax.rsqrt(variance + 1e-5)
    return (x * scale + (p(name + ".b", (x.shape[-1],), 0, jnp.float32) - mean * scale)).astype(x.dtype)


def mlp(p, x, classes):
    x = x.reshape(x.shape[0], -1)
    for i, units in enumerate((256, 128)):
        x = jax.nn.relu(linear(p, f"linear{i}", x, units))
    return linear(p, "head", x, classes)


def lenet(p, x, classes):
    x = pooled(convolution(p, "conv0", x, 20, 5, bias=True))
    x = pooled(convolution(p, "conv1", x, 50, 5, bias=True))
    x = jax.nn.relu(linear(p, "linear", x.reshape(x.shape[0], -1), 500))
    return linear(p, "head", x, classes)


def resnet(depth, p, x, classes):
    x = jax.nn.relu(batch_norm(p, "norm", convolution(p, "conv", x, 16, 3, 1, 1)))
    for stage, filters in enumerate((16, 32, 64)):
        for block in range((depth - 2) // 6):
            stride, name = 2 if stage > 0 and block == 0 else 1, f"block{stage}.{block}"
            y = jax.nn.relu(batch_norm(p, name + ".norm1", convolution(p, name + ".conv1", x, filters, 3, stride, 1)))
            y = batch_norm(p, name + ".norm2", convolution(p, name + ".conv2", y, filters, 3, 1, 1))
            if stride == 2:
                more = filters - x.shape[-1]
                x = jnp.pad(x[:, ::2, ::2], ((0, 0), (0, 0), (0, 0), (more // 2, more - more // 2)))
            x = jax.nn.relu(x + y)
    return linear(p, "head", x.mean((1, 2)), classes)


def layer_norm(p, name, x):
    wide = x.astype(jnp.float32)
    normal = (wide - wide.mean(-1, keepdims=True)) * lax.rsqrt(wide.var(-1, keepdims=True) + 1e-5)
    width = (x.shape[-1],)
    return (normal * (1 + p(name + ".g", width, 0, jnp.float32)) + p(name + ".b", width, 0, jnp.float32)).astype(x.dtype)


def gpt(p, tokens, classes, layers=4, heads=4, width=128):
    batch, length = tokens.shape
    table = p("tokens", (classes, width), 0.02)
    x = table[tokens] + p("positions", (length, width), 0.02)
    mask = jnp.tril(jnp.ones((length, length), bool))
    for i in range(layers):
        qkv = linear(p, f"qkv{i}", layer_norm(p, f"norm{i}.1", x), 3 * width).reshape(batch, length, 3, heads, width // heads)
        q, k, v = (qkv[:, :, part] for part in range(3))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) * (width // heads) ** -0.5
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)).astype(x.dtype)
        y = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width)
        x = x + linear(p, f"projection{i}", y, width)
        y = jax.nn.gelu(linear(p, f"expand{i}", layer_norm(p, f"norm{i}.2", x), 4 * width), approximate=True)
        x = x + linear(p, f"contract{i}", y, width)
    return layer_norm(p, "norm", x) @ table.T


def model_named(name):
    known = {"mlp": mlp, "lenet": lenet, "gpt": gpt}
    return known[name] if name in known else functools.partial(resnet, int(name[6:]))


def main():
    options = arguments()
    model, text = model_named(options.model), options.model == "gpt"
    type = jnp.bfloat16 if options.precision == "bf16" else jnp.float32
    random = np.random.default_rng(1)
    if text:
        samples = jnp.asarray(random.integers(0, options.classes, options.count * options.sample[0] + 1, dtype=np.int32))
        labels = jnp.zeros(1, jnp.int32)
    else:
        channels, height, width = options.sample
        samples = jnp.asarray(random.integers(0, 256, (options.count, height, width, channels), dtype=np.uint8))
        labels = jnp.asarray(random.integers(0, options.classes, options.count, dtype=np.int32))

    def batch_of(samples, labels, chosen):
        if text:
            at = chosen[:, None] * options.sample[0] + jnp.arange(options.sample[0])
            return samples[at], samples[at + 1]
        return ((samples[chosen].astype(jnp.float32) - 127.5) / 73.9).astype(type), labels[chosen]

    def loss_of(values, x, y):
        logits = model(Parameters(values, type), x, options.classes).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1).mean()

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(values, momenta, samples, labels, chosen):
        x, y = batch_of(samples, labels, chosen)
        loss, gradients = jax.value_and_grad(loss_of)(values, x, y)
        momenta = jax.tree.map(lambda m, g, v: MOMENTUM * m + g + WEIGHT_DECAY * v, momenta, gradients, values)
        return jax.tree.map(lambda v, m: v - RATE * m, values, momenta), momenta, loss

    makes = Parameters(type=type)
    x, _ = batch_of(samples, labels, jnp.arange(options.batch))
    model(makes, x, options.classes)
    values = makes.values
    momenta = jax.tree.map(jnp.zeros_like, values)
    order, at = random.permutation(options.count).astype(np.int32), 0

    def run(seconds):
        nonlocal values, momenta, at
        start, done = time.perf_counter(), 0
        while True:
            if at + options.batch > options.count:
                at = 0
            values, momenta, loss = step(values, momenta, samples, labels, order[at : at + options.batch])
            at += options.batch
            done += 1
            # Dispatch is asynchronous; without this the queue would grow beyond the window.
            if done % 4 == 0:
                loss.block_until_ready()
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                loss.block_until_ready()
                elapsed = time.perf_counter() - start
                return {"work": done * options.batch * (options.sample[0] if text else 1), "seconds": elapsed}

    run(0.5)
    serve(run, version=jax.__version__)


if __name__ == "__main__":
    main()
