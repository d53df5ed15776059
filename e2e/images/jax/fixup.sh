# Compiles what an import takes, and no more. Pods may not write it beside the sources themselves: each start would take longer.
python -c 'import jax, jax.numpy, jax.experimental.multihost_utils'
