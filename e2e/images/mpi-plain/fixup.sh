# sshd wants it at each start; where systemd runs, that makes it.
mkdir -p /run/sshd
