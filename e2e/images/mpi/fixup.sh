# ssh wants to know the user by name.
useradd --create-home --uid 1000 --shell /bin/sh mpi
# No two containers shall have the same host keys; a job brings its own.
rm -f /etc/ssh/ssh_host_*
