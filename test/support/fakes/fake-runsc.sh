#!/bin/bash
# Stands in for runsc. Its Pods are plain processes, and their memory is the file that they write. A file COMMAND.fails or
# COMMAND.hangs beside the state files makes a command fail or hang.
root=${1#--root=}
command=$2
for id; do :; done
if [ "$command" = --version ]; then
  echo "runsc version v0.0.0-test"
  exit
fi
state="$root/${id}_sandbox:$id.state"
pid=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$state")
[ -e "$root/$command.hangs" ] && exec sleep 60
if [ -e "$root/$command.fails" ]; then
  cat "$root/$command.fails" >&2
  exit 128
fi
write_status() {
  sed "s/\"status\":\"[a-z]*\"/\"status\":\"$1\"/" "$state" > "$state.tmp" && mv "$state.tmp" "$state"
}
case $command in
  pause)
    grep -q '"status":"running"' "$state" || exit 1
    kill -STOP "$pid"
    # On a busy machine a process stops only when it gets its turn.
    until grep -q '^State:.T' "/proc/$pid/status"; do
      [ -e "/proc/$pid" ] || exit 1
      sleep 0.001
    done
    write_status paused
    ;;
  resume)
    grep -q '"status":"paused"' "$state" || exit 1
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
