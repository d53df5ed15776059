# The package leaves these to systemd, which no container runs: sshd wants the folder at each start, and gives up its rights as the user.
mkdir -p /run/sshd
useradd --system --no-create-home --home-dir /run/sshd --shell /usr/sbin/nologin sshd
