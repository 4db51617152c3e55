"""What of peers/pytorch_gpu.py needs no GPU: batches, and stacked replicas against the same replicas one by one. Run in bench/peers."""

import copy

import torch
import torch.nn.functional as F

import pytorch_gpu as peer
from models import build

torch.set_num_threads(1)


def options(mode, model="resnet20", sample=(3, 32, 32), precision="f32", count=20):
    shape = [str(extent) for extent in sample]
    given = ["--device", "cpu", "--mode", mode, "--model", model, "--batch", "2", "--learners", "3", "--sample", *shape]
    return peer.arguments([*given, "--count", str(count), "--precision", precision])


def batches_come_from_the_epoch():
    for replicas, precision in ((None, "f32"), (3, "bf16")):
        asked = options("eager", precision=precision)
        data = peer.Images(asked, replicas)
        images = data.samples.view(asked.count, 32, 32, 3).permute(0, 3, 1, 2).float().sub(127.5).div(73.9).to(data.x.dtype)
        for _ in range(2 * data.steps + 1):
            first = 0 if data.left == 0 else int(data.at[0])
            data.turn()
            data.fill()
            chosen = data.order[first : first + data.rows]
            assert torch.equal(data.labels[chosen], data.y.flatten())
            assert torch.allclose(images[chosen].float(), data.x.reshape(-1, 3, 32, 32).float(), atol=1e-2 if replicas else 1e-5)
    assert data.left == data.steps - 1


def replicas_train_as_they_would_alone():
    for model, sample in (("resnet20", (3, 32, 32)), ("lenet", (1, 28, 28))):
        torch.manual_seed(3)
        alone, replicas = [build(model, sample, 10) for _ in range(3)], []
        peer.build = lambda *_: replicas.append(copy.deepcopy(alone[len(replicas)])) or replicas[-1]
        made = []
        stack, peer.stack = peer.stack, lambda given: made.append(stack(given)) or made[-1]
        data, compute = peer.stacked(options("stacked-eager", model, sample))
        peer.build, peer.stack = build, stack
        optimisers = [torch.optim.SGD(each.parameters(), peer.RATE, peer.MOMENTUM, weight_decay=peer.WEIGHT_DECAY) for each in alone]
        # Differences of rounding grow with every step.
        for tolerance in (1e-3, 1e-1):
            data.turn()
            compute()
            for i, (each, optimiser) in enumerate(zip(alone, optimisers)):
                optimiser.zero_grad()
                F.cross_entropy(each(data.x[i].contiguous()), data.y[i]).backward()
                optimiser.step()
                for name, parameter in each.named_parameters():
                    difference = float(((made[0][name][i] - parameter).abs().max() / parameter.abs().max()).detach())
                    assert difference < tolerance, (model, name, difference)


def bfloat16_stays_bfloat16():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            found = function(*args, **(kwargs or {}))
            name = str(function)
            if ("convolution" in name or "batch_norm" in name) and "backward" not in name:
                y = found[0] if isinstance(found, tuple) else found
                seen.append((name, y.dtype, y.is_contiguous(memory_format=torch.channels_last)))
            # Clones are what vmap makes of a tensor that lies otherwise, or is written in place.
            copies.extend(["copy"] if "clone" in name else [])
            return found

    for mode in ("eager", "stacked-eager"):
        seen, copies = [], []
        step, rows = peer.prepared(options(mode, precision="bf16"))
        step()
        with Watch():
            step()
        assert rows == (6 if "stacked" in mode else 2)
        assert len(seen) == 2 * 19 and not copies, (mode, len(seen), copies)
        assert all(dtype == torch.bfloat16 and last for _, dtype, last in seen), (mode, seen)


def texts_are_windows_whose_targets_follow():
    for precision in ("f32", "bf16"):
        asked = options("eager", "gpt", (16,), precision)
        data, compute = peer.one_model(asked)
        for _ in range(data.steps + 1):
            data.turn()
            compute()
            for row, window in enumerate(data.chosen):
                first = int(window) * 16
                assert torch.equal(data.x[row], data.samples[first : first + 16])
                assert torch.equal(data.y[row], data.samples[first + 1 : first + 17])
        assert data.units == 2 * 16


def texts_train_in_the_precision_that_was_asked_for():
    seen = []
    attention = F.scaled_dot_product_attention
    F.scaled_dot_product_attention = lambda q, *rest, **named: seen.append(q.dtype) or attention(q, *rest, **named)
    for precision, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        step, _ = peer.prepared(options("eager", "gpt", (16,), precision))
        step()
        assert seen and all(each == dtype for each in seen), (precision, seen)
        seen.clear()
    F.scaled_dot_product_attention = attention


CHECKS = (
    batches_come_from_the_epoch,
    replicas_train_as_they_would_alone,
    bfloat16_stays_bfloat16,
    texts_are_windows_whose_targets_follow,
    texts_train_in_the_precision_that_was_asked_for,
)
for check in CHECKS:
    check()
    print(f"ok {check.__name__}", flush=True)
