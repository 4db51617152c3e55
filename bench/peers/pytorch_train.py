"""Trains a model on random data and tells how many images, or tokens of texts, a second it manages.

Says {"ready": ..., "bytes": RESIDENT MEMORY OF TRAINING} on stdout when warm; then answers each line `run SECONDS` with {"work": SAMPLES, "seconds": ...}; ends with its input.
Between two commands it waits for its input and computes nothing.
"""

import argparse
import contextlib
import functools
import os
import re
import tempfile
import time

import torch
import torch.nn.functional as F
import torch.utils.checkpoint

from models import Block, Bottleneck, build
from windows import serve

LEAST_SAVED = 64 << 10
RATE, MOMENTUM, WEIGHT_DECAY = 0.01, 0.9, 1e-4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--sample", type=int, nargs="+", required=True, help="C H W of images, or T of tokens")
    parser.add_argument("--count", type=int, required=True, help="samples in memory")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--tokens", type=int, help="the values of a token, where a text has a class; if omitted, the target of a token is the next one")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--checkpoint", action="store_true", help="computes each residual block again in the backward pass")
    parser.add_argument("--saved-to", metavar="FOLDER", help="what backward needs lies in files there, not in memory")
    parser.add_argument("--parts", type=int, default=1, help="splits the batch into this many parts and accumulates their gradients")
    parser.add_argument("--optimiser", choices=("foreach", "fused"), default="foreach", help="SGD over lists of tensors, or as one kernel")
    parser.add_argument("--compile", choices=("default", "max-autotune"), help="by inductor, in this mode; eager if omitted")
    return parser.parse_args()


def checkpointed(model):
    for module in model.modules():
        if isinstance(module, (Block, Bottleneck)):
            module.forward = functools.partial(torch.utils.checkpoint.checkpoint, module.forward, use_reentrant=False)


class SavedFile:
    """A tensor that backward needs, in a file that goes with this object."""

    def __init__(self, tensor, folder):
        handle, self.path = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            torch.save(tensor, file)

    def __del__(self):
        os.remove(self.path)


def saving_to(folder):
    """Saves the tensors that backward needs in files. Parameters and small tensors stay in memory."""

    def pack(tensor):
        stays = tensor.is_leaf or tensor.numel() * tensor.element_size() < LEAST_SAVED
        return tensor if stays else SavedFile(tensor, folder)

    def unpack(saved):
        return torch.load(saved.path) if isinstance(saved, SavedFile) else saved

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def resident(field):
    """VmRSS, the resident memory now, or VmHWM, the most that there was; in bytes."""
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(rf"^{field}:\s+(\d+) kB", status.read(), re.MULTILINE).group(1))


class Images:
    """Pixels (N, C, H, W) of 8 bits, of which a batch is normalised in float32; and their classes (N)."""

    def __init__(self, options):
        self.format = torch.channels_last if options.channels_last else torch.contiguous_format
        self.samples = torch.randint(0, 256, (options.count, *options.sample), dtype=torch.uint8).contiguous(memory_format=self.format)
        self.labels = torch.randint(0, options.classes, (options.count,))

    def batch(self, chosen):
        return self.samples[chosen].to(torch.float32, memory_format=self.format).sub_(127.5).mul_(1 / 73.9), self.labels[chosen]


class Text:
    """One text of tokens (N * T + 1), cut into windows of T; the target of a token is the next one."""

    def __init__(self, options):
        self.tokens = torch.randint(0, options.classes, (options.count * options.sample[0] + 1,), dtype=torch.int32)
        self.window = torch.arange(options.sample[0])

    def batch(self, chosen):
        at = chosen[:, None] * self.window.numel() + self.window
        return self.tokens[at].long(), self.tokens[at + 1].long().view(-1)


class LabelledTexts:
    """Texts of tokens (N, T) that reach to the end, so that none of them is 0; and their classes (N)."""

    def __init__(self, options):
        self.tokens = torch.randint(1, options.tokens, (options.count, *options.sample), dtype=torch.int32)
        self.labels = torch.randint(0, options.classes, (options.count,))

    def batch(self, chosen):
        return self.tokens[chosen].long(), self.labels[chosen]


def data_of(options):
    if len(options.sample) > 1:
        return Images(options)
    return Text(options) if options.tokens is None else LabelledTexts(options)


def steps(options, data):
    """Endless training steps; each next() is one whole step over one batch."""
    model = build(options.model, options.sample, options.classes, dropout=0 if options.model == "gpt" else 0.5)
    if options.checkpoint:
        checkpointed(model)
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(
        model.parameters(), RATE, MOMENTUM, weight_decay=WEIGHT_DECAY, **{"fused": {"fused": True}, "foreach": {"foreach": True}}[options.optimiser]
    )
    autocast = torch.autocast("cpu", torch.bfloat16) if options.precision == "bf16" else contextlib.nullcontext()

    def loss_of(x, y):
        return F.cross_entropy(model(x).reshape(y.numel(), -1), y)

    if options.compile is not None:
        loss_of = torch.compile(loss_of, mode=None if options.compile == "default" else options.compile, dynamic=False)
    while True:
        order = torch.randperm(options.count)
        for first in range(0, options.count - options.batch + 1, options.batch):
            chosen = order[first : first + options.batch]
            optimiser.zero_grad(set_to_none=True)
            for part in chosen.chunk(options.parts):
                x, y = data.batch(part)
                with autocast, saving_to(options.saved_to) if options.saved_to else contextlib.nullcontext():
                    loss = loss_of(x, y)
                (loss * (len(part) / options.batch) if options.parts > 1 else loss).backward()
            optimiser.step()
            yield


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    data = data_of(options)
    before = resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as most:
        most.write("5")
    training = steps(options, data)
    each = options.batch * (options.sample[0] if len(options.sample) == 1 else 1)

    def run(seconds):
        start, done = time.perf_counter(), 0
        while True:
            next(training)
            done += 1
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                return {"work": done * each, "seconds": elapsed}

    # The first step compiles.
    next(training)
    run(0.5)
    bytes = resident("VmHWM") - before
    serve(run, version=torch.__version__, threads=torch.get_num_threads(), bytes=bytes)


if __name__ == "__main__":
    main()
