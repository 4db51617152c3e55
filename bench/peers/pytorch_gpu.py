"""Trains a model on a GPU, on random data that lies there, and tells how many images a second it manages.

Modes: eager; graph, one CUDA graph a step; compile, torch.compile(mode="max-autotune"); stacked, as many replicas as there are learners in one
model by torch.func, each with a batch of its own. Says {"ready": ...} when warm; then answers each line `run SECONDS`; ends with its input.
"""

import argparse
import json
import sys
import time

import torch
import torch.nn.functional as F

from models import build

RATE, MOMENTUM, WEIGHT_DECAY = 0.01, 0.9, 1e-4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("eager", "graph", "compile", "stacked"), required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--learners", type=int, default=1)
    parser.add_argument("--sample", type=int, nargs=3, required=True, metavar=("C", "H", "W"))
    parser.add_argument("--count", type=int, required=True, help="samples in memory")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="bf16")
    return parser.parse_args()


class Data:
    """Samples on the device; `fill` gathers the next batch into tensors that never move."""

    def __init__(self, options, rows):
        self.samples = torch.randint(0, 256, (options.count, *options.sample), dtype=torch.uint8, device="cuda")
        self.labels = torch.randint(0, options.classes, (options.count,), device="cuda")
        self.x = torch.empty((rows, *options.sample), device="cuda").contiguous(memory_format=torch.channels_last)
        self.y = torch.empty((rows,), dtype=torch.long, device="cuda")
        self.rows, self.count, self.first = rows, options.count, options.count
        self.order = None

    def fill(self):
        if self.first + self.rows > self.count:
            self.order, self.first = torch.randperm(self.count, device="cuda"), 0
        chosen = self.order[self.first : self.first + self.rows]
        self.first += self.rows
        self.x.copy_(self.samples[chosen].to(torch.float32).sub_(127.5).mul_(1 / 73.9))
        self.y.copy_(self.labels[chosen])


def autocast(options):
    return torch.autocast("cuda", torch.bfloat16, enabled=options.precision == "bf16")


def one_model(options):
    """A function that makes one step, and the images of a step."""
    data = Data(options, options.batch)
    model = build(options.model, options.sample, options.classes).cuda().to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(model.parameters(), RATE, MOMENTUM, weight_decay=WEIGHT_DECAY, fused=True)
    forward = torch.compile(model, mode="max-autotune") if options.mode == "compile" else model

    def compute():
        # A graph's gradients are made while it is recorded, in its own memory, and written anew by every replay: none is added to.
        optimiser.zero_grad(set_to_none=True)
        with autocast(options):
            loss = F.cross_entropy(forward(data.x), data.y)
        loss.backward()
        optimiser.step()

    if options.mode == "graph":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                data.fill()
                compute()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            compute()
        compute = graph.replay

    def step():
        data.fill()
        compute()

    return step, options.batch


def stacked(options):
    """Replicas side by side: one batched kernel where there were as many as learners."""
    from torch.func import functional_call, grad, stack_module_state, vmap

    replicas = [build(options.model, options.sample, options.classes).cuda() for _ in range(options.learners)]
    parameters, buffers = stack_module_state(replicas)
    parameters = {name: value.detach() for name, value in parameters.items()}
    velocity = {name: torch.zeros_like(value) for name, value in parameters.items()}
    base = replicas[0]
    data = Data(options, options.batch * options.learners)

    def loss_of(weights, statistics, x, y):
        with autocast(options):
            return F.cross_entropy(functional_call(base, (weights, statistics), (x,)), y)

    gradients = vmap(grad(loss_of), in_dims=(0, 0, 0, 0), randomness="different")
    # Batch statistics only: running ones would be written in place under vmap.
    for module in base.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.track_running_stats, module.running_mean, module.running_var, module.num_batches_tracked = False, None, None, None
    buffers = {}

    def step():
        data.fill()
        x = data.x.view(options.learners, options.batch, *options.sample)
        y = data.y.view(options.learners, options.batch)
        found = gradients(parameters, buffers, x, y)
        names = list(parameters)
        weights, moving = [parameters[n] for n in names], [velocity[n] for n in names]
        torch._foreach_mul_(moving, MOMENTUM)
        torch._foreach_add_(moving, [found[n] for n in names])
        torch._foreach_add_(moving, weights, alpha=WEIGHT_DECAY)
        torch._foreach_add_(weights, moving, alpha=-RATE)

    return step, options.batch * options.learners


def main():
    options = arguments()
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    step, images = (stacked if options.mode == "stacked" else one_model)(options)

    def run(seconds):
        torch.cuda.synchronize()
        start, done = time.perf_counter(), 0
        while True:
            for _ in range(10):
                step()
            torch.cuda.synchronize()
            done += 10
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                return {"work": done * images, "seconds": elapsed}

    def say(answer):
        print(json.dumps(answer), flush=True)

    run(1.0)
    say({"ready": True, "version": torch.__version__, "mode": options.mode})
    for line in sys.stdin:
        command, seconds = line.split()
        if command != "run":
            raise ValueError(f"command: received {command}; use run SECONDS")
        say(run(float(seconds)))


if __name__ == "__main__":
    main()
