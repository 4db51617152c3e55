"""Sums a vector over hosts by MXNet's parameter server: a kvstore of the type dist_sync, which is ps-lite with MXNet's own server.

One process a host, and a scheduler and a server, started with MXNet's variables DMLC_*: mxnet_kvstore.py BYTES TURNS. The worker with rank 0 prints
one line of JSON: the seconds of each push and pull but the first ones, which make the connections. The sums are checked. With --version it prints
that of MXNet instead, or fails where it was built without a distributed kvstore.
"""

import json
import os
import sys
import time

import mxnet as mx  # A server and a scheduler serve in this line, and end in it.

WARM = 3

if sys.argv[1] == "--version":
    if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
        sys.exit("MXNet was built without a distributed kvstore")
    print(mx.__version__)
    sys.exit(0)
if os.environ["DMLC_ROLE"] != "worker":
    sys.exit(0)
size, turns = int(sys.argv[1]) // 4, int(sys.argv[2])
store = mx.kv.create("dist_sync")
store.init(0, mx.nd.zeros((size,)))
values, summed = mx.nd.zeros((size,)), mx.nd.zeros((size,))
seconds = []
for turn in range(WARM + turns):
    values[:] = store.rank + 1  # The sum of the last turn is in there: MXNet receives in the array that was pushed.
    mx.nd.waitall()
    begin = time.perf_counter()
    store.push(0, values)
    store.pull(0, out=summed)
    summed.wait_to_read()
    seconds.append(time.perf_counter() - begin)
hosts = store.num_workers
if not (summed.asnumpy() == hosts * (hosts + 1) / 2).all():
    sys.exit(f"rank {store.rank}: the sum is wrong")
if store.rank == 0:
    print(json.dumps({"seconds": seconds[WARM:]}), flush=True)
