"""my_model: the network and its example inputs. What to replace is marked REPLACE; as it is, it works."""

from __future__ import annotations

import torch
from torch import nn

from etprof.models.seeded import seeded


class Network(nn.Module):
    """REPLACE by your network, or import it. An image (1, 3, 64, 64) to scores of ten classes (1, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
        )
        self.classifier = nn.Linear(32, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """(1, 3, 64, 64) to (1, 10)."""
        return self.classifier(self.features(image).mean((2, 3), keepdim=True).flatten(1))


class Model:
    """What etprof asks for: ExecuTorch's EagerModelBase interface."""

    def get_eager_model(self) -> nn.Module:
        """REPLACE by loading your weights: network.load_state_dict(torch.load("weights.pt", weights_only=True))."""
        with seeded():
            return Network()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """REPLACE by inputs like the real ones, one for each parameter of forward(): what is measured depends on their shapes."""
        with seeded():
            return (torch.randn(1, 3, 64, 64),)
