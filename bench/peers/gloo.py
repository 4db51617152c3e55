"""Sums a vector over hosts by Gloo, as PyTorch's DistributedDataParallel does with a bucket of gradients.

One process a host, started with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: gloo.py BYTES TURNS. Rank 0 prints one line of JSON: the seconds
of each sum but the first ones, which make the connections. The sums are checked.
"""

import json
import sys
import time

import torch
import torch.distributed as dist

WARM = 3

size, turns = int(sys.argv[1]) // 4, int(sys.argv[2])
dist.init_process_group("gloo")
hosts = dist.get_world_size()
seconds = []
for turn in range(WARM + turns):
    values = torch.ones(size)
    begin = time.perf_counter()
    dist.all_reduce(values)
    seconds.append(time.perf_counter() - begin)
if not torch.equal(values, torch.full((size,), float(hosts))):
    sys.exit(f"rank {dist.get_rank()}: the sum is wrong")
if dist.get_rank() == 0:
    print(json.dumps({"seconds": seconds[WARM:]}), flush=True)
dist.barrier()
dist.destroy_process_group()
