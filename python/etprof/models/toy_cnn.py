"""toy_cnn: three convolutions, pooling and two fully connected layers; a small model that is still worth a profile."""

from __future__ import annotations

import torch
from torch import nn

from etprof.models.seeded import seeded


class ToyCnn(nn.Module):
    """An image (N, 3, 224, 224) to the probabilities of ten classes (N, 10); 128,842 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, kernel_size=3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(32, 64, kernel_size=3, stride=2, padding=1)
        self.conv3 = nn.Conv2d(64, 128, kernel_size=3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Linear(128, 256)
        self.fc2 = nn.Linear(256, 10)
        self.relu = nn.ReLU()
        self.gelu = nn.GELU()
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """(N, 3, 224, 224) to (N, 10)."""
        features = self.relu(self.conv1(image))
        features = self.relu(self.conv2(features))
        features = self.relu(self.conv3(features))
        pooled = self.pool(features).flatten(1)
        return self.softmax(self.fc2(self.gelu(self.fc1(pooled))))


class ToyCnnModel:
    """`toy_cnn` in the registry."""

    def get_eager_model(self) -> nn.Module:
        """The network with seeded random weights."""
        with seeded():
            return ToyCnn()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """One seeded random image (1, 3, 224, 224)."""
        with seeded():
            return (torch.randn(1, 3, 224, 224),)
