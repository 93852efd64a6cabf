"""Load a dataset of `clevrskills generate` in PyTorch and train a small policy on it.

python examples/load_dataset.py demo
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader

from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.torch_dataset import TrainingDataset

HORIZON = 4

part = Dataset(sys.argv[1] if len(sys.argv) > 1 else "demo").filter(split="train")
camera = part.header.cameras[0]
samples = TrainingDataset(
    part,
    cameras=[camera],
    horizon=HORIZON,
    image_size=64,
    image_dtype=torch.float32,
    proprioception=["ee_pose"],
    failed_steps=False,  # without attempts that the oracle gave up
)
print(f"{len(samples)} samples of {len(part)} episodes")
loader = DataLoader(samples, batch_size=16, shuffle=True, num_workers=2)

encoder = nn.Sequential(nn.Conv2d(3, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 16, 4, 2), nn.Flatten())
head = nn.Sequential(nn.Linear(576 + 7, 64), nn.ReLU(), nn.Linear(64, HORIZON * 7), nn.Tanh())
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], 1e-3)
for step, batch in enumerate(loader):
    if step == 0:
        print("images", tuple(batch["images"][camera].shape))
        print("actions", tuple(batch["action"].shape))
        print("task:", batch["task"][0], "| now:", batch["instruction"][0])
    features = encoder(batch["images"][camera][:, -1])
    pose = batch["proprioception"]["ee_pose"][:, -1]
    actions = head(torch.cat((features, pose), dim=-1)).unflatten(1, (HORIZON, 7))
    error = (actions - batch["action"]).square().mean(-1)
    loss = error[~batch["action_is_pad"]].mean()  # without padding after the end
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"mean squared error after {len(loader)} steps: {loss.item():.3f}")
