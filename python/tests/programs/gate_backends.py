"""Variants of XNNPACK's partitioner with one known change each, for `etprof export --backend gate_backends:Class`."""

from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS
from executorch.backends.xnnpack.partition.config.gemm_configs import AddmmConfig, LinearConfig, MMConfig
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner


class PerOperatorPartitioner(XnnpackPartitioner):
    """Makes each operator a separate delegate."""

    def __init__(self) -> None:
        super().__init__(per_op_mode=True)


class WithoutLinearPartitioner(XnnpackPartitioner):
    """Leaves linear layers to portable kernels."""

    def __init__(self) -> None:
        left_out = (AddmmConfig, LinearConfig, MMConfig)
        super().__init__(configs=[config for config in ALL_PARTITIONER_CONFIGS if config not in left_out])
