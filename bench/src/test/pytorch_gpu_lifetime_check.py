"""What peers/pytorch_gpu.py still holds once a step is recorded, with a torch that only answers: the graph knows addresses alone. Run in bench/peers."""

import contextlib
import gc
import sys
import types
import weakref


def module(name, **members):
    made = types.ModuleType(name)
    vars(made).update(members)
    sys.modules[name] = made
    return made


class Stream:
    def wait_stream(self, other):
        pass


class Graph:
    def replay(self):
        replayed.append(self)


def beside(_):
    return contextlib.nullcontext()


functional = module("torch.nn.functional", relu=None)
nn = module("torch.nn", functional=functional, BatchNorm2d=object)
module("torch.overrides", TorchFunctionMode=object)
torch = module("torch", nn=nn, relu=None, Tensor=types.SimpleNamespace(add_=None, add=None))
torch.autograd = types.SimpleNamespace(Function=object)
torch.cuda = types.SimpleNamespace(Stream=Stream, current_stream=Stream, stream=beside, CUDAGraph=Graph, graph=beside, synchronize=lambda: None)
module("models", build=None)

import pytorch_gpu as peer  # noqa: E402


class Owned:
    """What has memory on the device: a model, or an optimiser with its masters."""

    units = 16

    def turn(self):
        pass

    def share(self, first):
        pass


def owners(options):
    data, model, trained = Owned(), Owned(), Owned()
    held.extend(weakref.ref(each) for each in (data, model, trained))

    def compute():
        computed.append(bool(model and trained))

    return data, compute


peer.one_model = peer.stacked = owners
# Nothing may depend on when cycles are looked for.
gc.disable()
for mode in ("eager", "graph", "compile", "compile-graph", "streams", "stacked", "stacked-eager"):
    held, computed, replayed = [], [], []
    step, units = peer.prepared(types.SimpleNamespace(mode=mode, learners=3))
    made = len(computed)
    step()
    models = 3 if mode == "streams" else 1
    recorded = mode in (*peer.RECORDED, "streams")
    assert units == 16 * models, (mode, units)
    assert len(set(replayed)) == len(replayed) == models * recorded and len(computed) - made == (not recorded), mode
    assert len(held) == 3 * models and all(ref() is not None for ref in held), f"{mode}: what the graph uses was given back"
    print(f"ok {mode}", flush=True)
