# Tests of NumPy and SciPy, 40 MB.
rm -rf /usr/local/lib/python3*/dist-packages/*/tests /usr/local/lib/python3*/dist-packages/*/*/tests

# Compiles what an import takes, and no more. Pods may not write it beside the sources themselves.
python -c 'import jax, xgboost, xgboost.tracker, xgboost.collective'
