"""Trains a model on a GPU, on random data that lies there, and tells how many images, or tokens of texts, a second it manages.

Modes, images in channels last; in bfloat16 with float32 master weights, which a launch narrows and another widens gradients for, as with us:

  eager          operator by operator
  graph          a whole step as one CUDA graph: batch, forward, loss, backward, update
  compile        forward and backward by torch.compile(mode="max-autotune"), which records CUDA graphs of its own; the rest eager
  compile-graph  by torch.compile(mode="max-autotune-no-cudagraphs"), and a whole step as one CUDA graph
  streams        as many models as there are learners, each a CUDA graph like that of `graph`, replayed on a stream of its own by one thread
  stacked        as many replicas as there are learners in one model by torch.func, each with a batch of its own, a whole step as one CUDA graph; images alone
  stacked-eager  the same unrecorded

Says {"ready": ...} when warm; then answers each line `run SECONDS`; ends with its input. TF32 is off unless ARBALEST_TF32=1, as it is with us.
"""

import argparse
import copy
import os
import sys
import time
import traceback

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from models import build
from windows import serve

RATE, MOMENTUM, WEIGHT_DECAY = 0.01, 0.9, 1e-4
# Of pixels from 0 to 255.
MEAN, DEVIATION = 127.5, 73.9

COMPILED = {"compile": "max-autotune", "compile-graph": "max-autotune-no-cudagraphs"}
STACKED = ("stacked", "stacked-eager")
RECORDED = ("graph", "compile-graph", "stacked")


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=("eager", "graph", "compile", "compile-graph", "streams", "stacked", "stacked-eager"), required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--learners", type=int, default=1, help="models of `streams`, replicas of the stacked modes")
    parser.add_argument("--sample", type=int, nargs="+", required=True, help="C H W of images, or T of tokens, whose target is the next one")
    parser.add_argument("--count", type=int, required=True, help="samples in memory")
    parser.add_argument("--classes", type=int, default=10, help="of images; of texts the tokens that there are")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="bf16")
    parser.add_argument("--device", default="cuda", help="cpu: to look at the unrecorded modes where there is no GPU")
    options = parser.parse_args(given)
    if len(options.sample) not in (1, 3):
        parser.error(f"--sample: received {len(options.sample)} numbers; give C H W of images, or T of tokens")
    return options


class Order:
    """The order of an epoch's samples on the device, and those of the next batch.

    `choose` is the device's work alone and may be part of a graph: where the batch begins lies on the device, too. `turn` is not, and comes
    before each of them.
    """

    def __init__(self, options, rows):
        if rows > options.count:
            raise ValueError(f"--count: received {options.count}; a step takes {rows} samples, give as many at least")
        self.rows = rows
        self.order = torch.randperm(options.count, device=options.device)
        self.begin = torch.arange(rows, device=options.device)
        self.at = self.begin.clone()
        self.chosen = torch.empty_like(self.begin)
        self.steps = self.left = options.count // rows

    def turn(self):
        """An epoch that is over is followed by another, in an order of its own."""
        if self.left == 0:
            self.order.copy_(torch.randperm(self.order.numel(), device=self.order.device))
            self.at.copy_(self.begin)
            self.left = self.steps
        self.left -= 1

    def choose(self):
        torch.index_select(self.order, 0, self.at, out=self.chosen)
        self.at.add_(self.rows)


class Text(Order):
    """One text of tokens (N * T + 1) on the device, of which a batch is some windows: x (B, T), and the tokens that follow, y (B, T)."""

    def __init__(self, options):
        (length,) = options.sample
        super().__init__(options, options.batch)
        self.units = self.rows * length
        self.samples = torch.randint(0, options.classes, (options.count * length + 1,), device=options.device)
        self.window = torch.arange(length, device=options.device)
        self.x = torch.empty((options.batch, length), dtype=torch.long, device=options.device)
        self.y = torch.empty_like(self.x)

    def share(self, first):
        self.samples = first.samples

    def fill(self):
        self.choose()
        at = (self.chosen[:, None] * self.window.numel() + self.window).flatten()
        torch.index_select(self.samples, 0, at, out=self.x.view(-1))
        torch.index_select(self.samples, 0, at + 1, out=self.y.view(-1))


class Images(Order):
    """Images on the device, and the next batch of them in tensors that never move: x (B, C, H, W), y (B), or one batch a replica, x (K, B, C, H, W)."""

    def __init__(self, options, replicas=None):
        device, (channels, height, width) = options.device, options.sample
        batches = (options.batch,) if replicas is None else (replicas, options.batch)
        super().__init__(options, options.batch * (replicas or 1))
        self.units = self.rows
        # Channels last, as they are wanted.
        self.samples = torch.randint(0, 256, (options.count, height * width * channels), dtype=torch.uint8, device=device)
        self.labels = torch.randint(0, options.classes, (options.count,), device=device)
        self.raw = torch.empty((self.rows, self.samples.shape[1]), dtype=torch.uint8, device=device)
        self.pixels = self.raw.view(*batches, height, width, channels).movedim(-1, -3)
        self.shift = torch.tensor(-MEAN / DEVIATION, device=device)
        dtype = torch.bfloat16 if options.precision == "bf16" else torch.float32
        if replicas is None:
            self.x = torch.empty((options.batch, height, width, channels), dtype=dtype, device=device).permute(0, 3, 1, 2)
        else:
            # As one batch of all replicas' channels side by side, which is what a grouped convolution takes.
            together = torch.empty((options.batch, height, width, replicas, channels), dtype=dtype, device=device)
            self.x = together.permute(3, 0, 4, 1, 2)
        self.y = torch.empty(batches, dtype=torch.long, device=device)

    def share(self, first):
        self.samples, self.labels = first.samples, first.labels

    def fill(self):
        self.choose()
        torch.index_select(self.samples, 0, self.chosen, out=self.raw)
        torch.index_select(self.labels, 0, self.chosen, out=self.y.view(-1))
        torch.add(self.shift, self.pixels, alpha=1 / DEVIATION, out=self.x)


class Trained:
    """A model's parameters in the types that its kernels take, and float32 masters of those that are bfloat16."""

    def __init__(self, parameters, narrow):
        masters = [parameter.detach().clone(memory_format=torch.preserve_format) for parameter in narrow]
        for parameter in narrow:
            parameter.data = parameter.detach().to(torch.bfloat16)
        for master in masters:
            master.grad = torch.empty_like(master)
        self.parameters, self.narrow, self.masters = parameters, narrow, masters
        known = {id(parameter) for parameter in narrow}
        wide = [parameter for parameter in parameters if id(parameter) not in known]
        self.optimiser = torch.optim.SGD([*wide, *masters], RATE, MOMENTUM, weight_decay=WEIGHT_DECAY, fused=True)

    def clear(self):
        """Before the forward pass. A graph's gradients are made while it is recorded, in its own memory, and written anew by every replay."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self, loss):
        loss.backward()
        with torch.no_grad():
            if self.narrow:
                torch._foreach_copy_([master.grad for master in self.masters], [parameter.grad for parameter in self.narrow])
            self.optimiser.step()
            if self.narrow:
                torch._foreach_copy_(self.narrow, self.masters)


def products(model):
    """The layers that compute in bfloat16 where the model does: norms have their parameters in float32, as under autocast."""
    return {name: module for name, module in model.named_modules() if isinstance(module, (nn.Conv2d, nn.Linear))}


def one_model(options):
    """Data, and a function that makes a step of it."""
    text = len(options.sample) == 1
    if text:
        data, model = Text(options), build(options.model, options.sample, options.classes, dropout=0).to(options.device)
    else:
        data = Images(options)
        model = build(options.model, options.sample, options.classes).to(options.device, memory_format=torch.channels_last)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            # Nobody reads it, and counting is a kernel a layer.
            module.num_batches_tracked = None
    # Of a model of texts all are: layer norm takes no float32 parameters beside bfloat16.
    computing = [model] if text else products(model).values()
    narrow = list(dict.fromkeys(p for module in computing for p in module.parameters())) if options.precision == "bf16" else []
    trained = Trained(list(model.parameters()), narrow)

    def loss_of(x, y):
        return F.cross_entropy(model(x).float().flatten(0, y.dim() - 1), y.flatten())

    forward = torch.compile(loss_of, mode=COMPILED[options.mode]) if options.mode in COMPILED else loss_of

    def compute():
        data.fill()
        trained.clear()
        trained.step(forward(data.x, data.y))

    return data, compute


class NormOfAll(torch.autograd.Function):
    """Batch norm, and that of all replicas under vmap as one of as many channels: PyTorch's own rule multiplies by the scale apart, in float32."""

    @staticmethod
    def forward(x, weight, bias, eps):
        return F.batch_norm(x, None, None, weight, bias, True, 0.0, eps)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, dims, x, weight, bias, eps):
        # x: (N, K, C, ...); weight, bias: (K, C)
        x, weight, bias = x.movedim(dims[0], 1), weight.movedim(dims[1], 0).flatten(), bias.movedim(dims[2], 0).flatten()
        return F.batch_norm(x.flatten(1, 2), None, None, weight, bias, True, 0.0, eps).unflatten(1, x.shape[1:3]), 1


class StackedNorm(nn.BatchNorm2d):
    """By the batch's statistics alone: running ones would be written in place under vmap."""

    def forward(self, x):
        return NormOfAll.apply(x, self.weight, self.bias, self.eps)


class OutOfPlace(TorchFunctionMode):
    """What vmap writes in place it writes through a view, for which autograd copies whole tensors in the backward pass."""

    INSTEAD = {F.relu: lambda x, inplace: torch.relu(x), torch.Tensor.add_: torch.Tensor.add}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return self.INSTEAD.get(function, function)(*args, **(kwargs or {}))


def stack(replicas):
    """One parameter (K, ...) for each of theirs, filters in channels last."""
    stacked = {}
    for named in zip(*(replica.named_parameters() for replica in replicas)):
        together = torch.stack([value.detach() for _, value in named])
        if together.dim() == 5:
            together = together.movedim(2, -1).contiguous().movedim(-1, 2)
        stacked[named[0][0]] = together.requires_grad_()
    return stacked


def stacked(options):
    """The same of replicas side by side: one grouped kernel where there were as many as learners."""
    from torch.func import functional_call, vmap

    if len(options.sample) == 1:
        raise ValueError(f"--mode: received {options.mode} of {options.model}; replicas are stacked of models of images")
    replicas = [build(options.model, options.sample, options.classes).to(options.device) for _ in range(options.learners)]
    parameters = stack(replicas)
    base = copy.deepcopy(replicas[0]).to("meta")
    for module in base.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.__class__ = StackedNorm
            module.running_mean = module.running_var = module.num_batches_tracked = None
    data = Images(options, options.learners)
    names = [f"{name}.{own}" for name, module in products(base).items() for own, _ in module.named_parameters()]
    trained = Trained(list(parameters.values()), [parameters[name] for name in names] if options.precision == "bf16" else [])

    def loss_of(weights, x, y):
        return F.cross_entropy(functional_call(base, weights, (x,)).float(), y)

    losses = vmap(loss_of, randomness="different")

    def compute():
        data.fill()
        trained.clear()
        # Each is of its own replica's parameters alone, and so is each gradient of their sum.
        with OutOfPlace():
            loss = losses(parameters, data.x, data.y).sum()
        trained.step(loss)

    return data, compute


def recorded(data, compute):
    """What it does as one CUDA graph, after it has run a few times: until all is chosen, compiled and loaded. Each graph has memory of its own."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            data.turn()
            compute()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        compute()

    def replay():
        graph.replay()

    # A graph owns what was made while it was recorded, and has no more than the addresses of the rest: model, masters and the optimiser's state
    # would go to others with the last that refers to them.
    replay.recorded_from = compute
    return replay


def on_streams(options):
    """A function that makes a step of each of as many models as there are learners, and the images or tokens of all these steps.

    Nothing joins the streams after a step: the k-th model's next step waits for its own last one alone, as a learner's does.
    """
    models = []
    for _ in range(options.learners):
        data, compute = one_model(options)
        if models:
            # One copy of the samples is enough, as it is for our learners.
            _, first, _ = models[0]
            data.share(first)
        models.append((torch.cuda.Stream(), data, recorded(data, compute)))
    # All of this was queued on other streams than those that replay it.
    torch.cuda.synchronize()

    def step():
        for stream, data, replay in models:
            with torch.cuda.stream(stream):
                data.turn()
                replay()

    return step, sum(data.units for _, data, _ in models)


def prepared(options):
    """A function that makes one step, and the images or tokens of it."""
    if options.mode == "streams":
        return on_streams(options)
    data, compute = (stacked if options.mode in STACKED else one_model)(options)
    if options.mode in RECORDED:
        compute = recorded(data, compute)

    def step():
        data.turn()
        compute()

    return step, data.units


def main():
    options = arguments()
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    tf32 = os.environ.get("ARBALEST_TF32") == "1"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    synchronise = torch.cuda.synchronize if options.device == "cuda" else lambda: None
    step, units = prepared(options)

    def run(seconds):
        synchronise()
        start, done, turn = time.perf_counter(), 0, 10
        while True:
            for _ in range(turn):
                step()
            synchronise()
            done += turn
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                return {"work": done * units, "seconds": elapsed}
            # An idle GPU then waits for the next launch: five times a second this costs nothing that can be measured.
            turn = max(10, int(0.2 * done / elapsed))

    run(1.0)
    serve(run, version=torch.__version__, mode=options.mode)


def out_of_memory(error):
    """The error among those that led to this one that says that memory was at its end."""
    while error is not None and not isinstance(error, torch.cuda.OutOfMemoryError):
        error = error.__cause__ or error.__context__
    return error


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        found = out_of_memory(error)
        if found is not None and found is not error:
            traceback.print_exc()
            # Last: the end of a recording that it cut off is another error, whose words would hide it from who started this.
            sys.exit(f"OutOfMemoryError: {found}")
        raise
