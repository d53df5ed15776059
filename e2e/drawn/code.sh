#!/bin/sh
# What a rank does: see code.go. It is read by sh and by bash -euo pipefail.
said=0

say() {
  said=$((said + 1))
  line="drawn $NAME attempt $ATTEMPT line $said: $*"
  echo "$line" # first: what the file has was printed
  echo "$line" >> "/data/said-$NAME"
}

stop() {
  trap '' TERM
  i=0
  while [ "$i" -lt "$SAVES" ]; do
    i=$((i + 1))
    say "saves $i of $SAVES"
    sleep 1
  done
  say "saved"
  exit "$SAVED"
}

wait_for_ever() {
  while :; do sleep 1; done
}

fault() {
  say "fault $FAULT"
  case $FAULT in
    kill) sh -c 'kill -9 $PPID' ;; # Kubernetes would make one dollar of two
    hang | delete) wait_for_ever ;;
  esac
  if [ -n "$WORDS" ]; then echo "$WORDS" >&2; fi
  exit "$CODE"
}

trap stop TERM
say "begins"
: > "/data/up-$NAME"
if [ "$STEPS" = 0 ]; then wait_for_ever; fi
victim=no
if [ "$NAME" = "$VICTIM" ]; then victim=yes; fi
if [ "$ATTEMPT" = 0 ] && { [ "$victim" = yes ] || [ -z "$VICTIM" ]; }; then
  for name in $AWAITS; do
    while [ ! -e "/data/$name" ]; do sleep 1; done
  done
  if [ "$victim" = yes ]; then sleep 2; fi
fi
step=0
while [ "$step" -lt "$STEPS" ]; do
  step=$((step + 1))
  say "step $step of $STEPS"
  sleep 1
  if [ "$victim" = yes ] && [ "$step" = "$AT" ] && [ "$ATTEMPT" -lt "$TIMES" ]; then fault; fi
done
say "done"
