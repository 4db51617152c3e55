"""One of the processes of a job in PyTorch DDP over Gloo. Other jobs may share the cores and the links.

Started with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Rank 0 prints a line with the seconds of a clock that all processes share after each step,
until it is ended. The samples are random and in memory, as in the bench's own jobs.
"""

import argparse
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from models import build

CONTEXT, TOKENS = 64, 65


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    dist.init_process_group("gloo")
    torch.manual_seed(1 + dist.get_rank())
    count = 64 * options.batch
    if options.model == "gpt":
        model = build("gpt", (CONTEXT,), TOKENS, dropout=0.0)
        samples, labels = torch.randint(0, TOKENS, (2, count, CONTEXT))
    else:
        sample = (1, 28, 28) if options.model in ("lenet", "mlp") else (3, 32, 32)
        model = build(options.model, sample, 10)
        samples, labels = torch.rand(count, *sample), torch.randint(0, 10, (count,))
    optimiser = torch.optim.SGD(model.parameters(), 0.001, 0.9, foreach=True)
    model = DistributedDataParallel(model)
    while True:
        for x, y in zip(samples.split(options.batch), labels.split(options.batch)):
            loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if dist.get_rank() == 0:
                print(time.monotonic(), flush=True)


if __name__ == "__main__":
    main()
