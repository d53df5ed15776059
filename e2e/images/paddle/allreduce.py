"""Adds up the ranks of all processes of a PaddlePaddle job."""

import paddle
import paddle.distributed as dist

dist.init_parallel_env()
mine = paddle.to_tensor([float(dist.get_rank())])
dist.all_reduce(mine)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: sum={int(mine.item())}")
