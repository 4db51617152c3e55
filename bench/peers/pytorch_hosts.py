"""Trains a model on several hosts with PyTorch over Gloo, until the test accuracy reaches a target.

One process a host, started with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Rank 0 prints one line of JSON: the seconds of training without
those of the evaluations, the steps, and the accuracies on the way. The data are the files of MNIST or CIFAR-10 in one folder.
"""

import argparse
import gzip
import json
import lzma
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.nn.parallel import DistributedDataParallel

from models import build

METHODS = ("ddp", "fp16", "averager")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True, help="the folder of the files")
    parser.add_argument("--method", choices=METHODS, required=True)
    parser.add_argument("--batch", type=int, default=16, help="samples of a host's step")
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--decay", type=float, default=5e-4)
    parser.add_argument("--period", type=int, default=8, help="steps between two averages of the models")
    parser.add_argument("--target", type=float, required=True)
    parser.add_argument("--evaluate", type=int, required=True, help="steps between two evaluations")
    parser.add_argument("--steps", type=int, required=True, help="the most")
    parser.add_argument("--tests", type=int, help="evaluates this many of the test samples; all if omitted")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def mnist(folder):
    def read(name, header):
        with gzip.open(os.path.join(folder, name + ".gz")) as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    def part(name):
        samples = read(f"{name}-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
        return samples, read(f"{name}-labels-idx1-ubyte", 8)

    return (*part("train"), *part("t10k"), [0.1307], [0.3081])


def cifar10(folder):
    def part(names):
        rows = []
        for name in names:
            path = os.path.join(folder, name + ".bin")
            with open(path, "rb") if os.path.exists(path) else lzma.open(path + ".xz") as file:
                rows.append(np.frombuffer(file.read(), np.uint8).reshape(-1, 3073))
        all_rows = np.concatenate(rows)
        return all_rows[:, 1:].reshape(-1, 3, 32, 32), all_rows[:, 0]

    train = part([f"data_batch_{i}" for i in range(1, 6)])
    return (*train, *part(["test_batch"]), [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616])


def crop_and_flip(batch):
    """Four pixels of padding, as ours."""
    padded = F.pad(batch, (4, 4, 4, 4))
    rows, columns = torch.randint(0, 9, (2, len(batch)))
    flips = torch.rand(len(batch)) < 0.5
    cropped = torch.stack([one[:, r : r + 32, c : c + 32] for one, r, c in zip(padded, rows.tolist(), columns.tolist())])
    return torch.where(flips[:, None, None, None], cropped.flip(3), cropped)


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    is_mnist = options.model == "lenet"
    samples, labels, test_samples, test_labels, mean, std = (mnist if is_mnist else cifar10)(options.data)
    test_samples, test_labels = test_samples[: options.tests], test_labels[: options.tests]
    samples, test_samples = torch.from_numpy(samples.copy()), torch.from_numpy(test_samples.copy())
    labels, test_labels = torch.from_numpy(labels.astype(np.int64)), torch.from_numpy(test_labels.astype(np.int64))
    mean, std = (torch.tensor(figure).view(1, -1, 1, 1) for figure in (mean, std))

    def normalised(some):
        return (some.float() / 255 - mean) / std

    torch.manual_seed(options.seed)
    plain = build(options.model, tuple(samples.shape[1:]), 10)
    optimiser = torch.optim.SGD(plain.parameters(), options.rate, options.momentum, weight_decay=options.decay, foreach=True)
    averager = PeriodicModelAverager(period=options.period, warmup_steps=options.period - 1) if options.method == "averager" else None
    model = plain
    if averager is None:
        model = DistributedDataParallel(plain)
        if options.method == "fp16":
            model.register_comm_hook(None, default_hooks.fp16_compress_hook)

    def accuracy():
        """Of rank 0's model; the others wait in their next step, or for the word whether it is the last."""
        plain.eval()
        with torch.no_grad():
            right = sum((plain(normalised(x)).argmax(1) == y).sum().item() for x, y in zip(test_samples.split(500), test_labels.split(500)))
        plain.train()
        return right / len(test_labels)

    torch.manual_seed(1000 * options.seed + rank)
    dist.barrier()
    seconds, step, curve, begin, has_reached = 0.0, 0, [], time.perf_counter(), False
    while step < options.steps and not has_reached:
        # One permutation for all: each takes its own samples of it.
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(options.seed * 7919 + step))[rank::size]
        for chosen in order.split(options.batch):
            if len(chosen) < options.batch:
                break
            x = normalised(samples[chosen])
            loss = F.cross_entropy(model(x if is_mnist else crop_and_flip(x)), labels[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if averager is not None:
                averager.average_parameters(plain.parameters())
            step += 1
            if step % options.evaluate and step < options.steps:
                continue
            dist.barrier()
            seconds += time.perf_counter() - begin
            reached = torch.zeros(1)
            if rank == 0:
                curve.append([step, accuracy()])
                reached[0] = float(curve[-1][1] >= options.target)
            dist.broadcast(reached, 0)
            has_reached = reached.item() > 0
            begin = time.perf_counter()
            if has_reached or step >= options.steps:
                break
    if rank == 0:
        print(json.dumps({"seconds": seconds, "steps": step, "reached": has_reached, "curve": curve, "torch": torch.__version__}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
