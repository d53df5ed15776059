"""Computes pi in all processes of an MPI job together."""

from mpi4py import MPI

world = MPI.COMM_WORLD
steps = 100_000
mine = sum(4 / (1 + ((i + 0.5) / steps) ** 2) for i in range(world.rank, steps, world.size)) / steps
pi = world.reduce(mine)
print(f"process {world.rank} of {world.size} on {MPI.Get_processor_name()}")
world.Barrier()
if world.rank == 0:
    print(f"pi={pi:.6f}")
