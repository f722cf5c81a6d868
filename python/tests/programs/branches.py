"""A model with branches, a residual, a concatenation, lists of tensors, and several delegates.

XNNPACK does not delegate one of its reshapes.
"""

import torch


class BranchesModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.b = torch.nn.Conv2d(3, 4, 1)
        self.c = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.d = torch.nn.Conv2d(12, 6, 1)
        self.e = torch.nn.Conv2d(3, 6, 1)

    def forward(self, x):
        y = self.d(torch.cat([torch.relu(self.a(x)), self.b(x), torch.sigmoid(self.c(x))], 1))
        p, q = torch.split(torch.relu(y + self.e(x)), 3, 1)
        w = torch.stack([p, torch.cumsum(q, 1)], 0).flatten(0, 1)
        w = torch.nn.functional.interpolate(w, scale_factor=2.0, mode="bilinear")
        w = torch.cat([w, w], 1)
        return torch.nn.functional.layer_norm(w, (16,)), w[:, 1:3]


class Branches:
    def get_eager_model(self):
        return BranchesModule().eval()

    def get_example_inputs(self):
        return (torch.rand(1, 3, 8, 8),)
