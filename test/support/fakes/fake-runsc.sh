#!/bin/bash
# Stands in for runsc. Its Pods are plain processes, and their memory is the file that they write. A file COMMAND.fails,
# COMMAND.hangs or COMMAND.killed beside the state files makes a command fail, hang, or end by a signal once the Pod is frozen.
# One that hangs says so in COMMAND.hung.
root=${1#--root=}
command=$2
for id; do :; done
if [ "$command" = --version ]; then
  echo "runsc version v0.0.0-test"
  exit
fi
printf . >> "$root/$command.calls"
state="$root/${id}_sandbox:$id.state"
text=$(<"$state")
[[ $text =~ \"pid\":([0-9]+) ]] && pid=${BASH_REMATCH[1]}
if [ -e "$root/$command.hangs" ]; then
  printf . >> "$root/$command.hung"
  exec sleep 60
fi
if [ -e "$root/$command.killed" ]; then
  kill -STOP "$pid"
  kill -KILL $$
fi
if [ -e "$root/$command.fails" ]; then
  printf %s "$(<"$root/$command.fails")" >&2
  exit 128
fi
[[ $text =~ \"status\":\"([a-z]+)\" ]] && status=${BASH_REMATCH[1]}
write_status() {
  printf %s "${text/\"$status\"/\"$1\"}" > "$state.tmp" && mv "$state.tmp" "$state"
}
case $command in
  pause)
    [ "$status" = running ] || exit 1
    kill -STOP "$pid"
    # On a busy machine a process stops only when it gets its turn.
    until read -r _ _ state_of_process _ < "/proc/$pid/stat" && [ "$state_of_process" = T ]; do
      [ -e "/proc/$pid" ] || exit 1
      sleep 0.001
    done
    write_status paused
    ;;
  resume)
    [ "$status" = paused ] || exit 1
    write_status running && kill -CONT "$pid"
    ;;
  checkpoint)
    for word; do [[ $word == --image-path=* ]] && folder=${word#--image-path=}; done
    echo kernel > "$folder/checkpoint.img"
    cp "$root/memory-of-$id" "$folder/pages.img"
    echo pages > "$folder/pages_meta.img"
    ;;
  *) exit 2 ;;
esac
