# Starts PostgreSQL on the Pod's own address, with its data on the volume. On a cluster the image has the programs; on a
# laptop they have to be there: Debian keeps them out of the PATH.
set -eu
for programs in /usr/lib/postgresql/*/bin; do PATH="$PATH:$programs"; done

# PostgreSQL refuses to run as root. In a user namespace of its own root is somebody else, with the same rights here.
if [ "$(id -u)" = 0 ]; then exec unshare --user --map-user="$(id -u nobody)" sh "$0"; fi

data="${ROUSE_VOLUME_DATA:-/data}/database"
if [ ! -d "$data" ]; then
  # Under another name until it is complete: a start that was cut short begins anew.
  rm -rf "$data.new"
  printf '%s\n' "$PASSWORD" | initdb --pgdata="$data.new" --username=postgres --auth=scram-sha-256 --pwfile=/dev/stdin --no-instructions
  # Connections come from the activators; whoever has the password may use them.
  echo 'host all all all scram-sha-256' >>"$data.new/pg_hba.conf"
  mv "$data.new" "$data"
fi
exec postgres -D "$data" -h "$POD_IP" -k ''
