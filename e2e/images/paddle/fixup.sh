# C++ headers are for building operators, not for running them.
rm -rf /usr/local/lib/python3*/dist-packages/paddle/include

# Compiles what an import takes, and no more. Pods may not write it beside the sources themselves.
python -c 'import paddle, paddle.distributed.launch'
