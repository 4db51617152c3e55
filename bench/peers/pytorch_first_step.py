"""Trains one step of LeNet on random samples and says so: what a process of PyTorch takes until then is timed."""

import torch
import torch.nn.functional as F

from models import build

model = build("lenet", [1, 28, 28], 10, dropout=0)
optimiser = torch.optim.SGD(model.parameters(), 0.01, 0.9, weight_decay=1e-4)
samples, labels = torch.randint(0, 256, (16, 1, 28, 28), dtype=torch.uint8), torch.randint(0, 10, (16,))
loss = F.cross_entropy(model(samples.to(torch.float32).sub_(127.5).mul_(1 / 73.9)), labels)
loss.backward()
optimiser.step()
print("first step", loss.item(), flush=True)
