# Starts PostgreSQL on the Pod's own address, with its data on the volume. On a cluster the image has the programs; on a
# laptop they must be installed. Debian does not add them to the PATH.
set -eu
for programs in /usr/lib/postgresql/*/bin; do PATH="$PATH:$programs"; done

# PostgreSQL refuses to run as root. In a user namespace it runs as another user, with the same rights to these files.
if [ "$(id -u)" = 0 ]; then exec unshare --user --map-user="$(id -u nobody)" sh "$0"; fi

data="${ROUSE_VOLUME_DATA:-/data}/database"
if [ ! -d "$data" ]; then
  # The data has another name until it is complete, so an interrupted start begins again.
  rm -rf "$data.new"
  printf '%s\n' "$PASSWORD" | initdb --pgdata="$data.new" --username=postgres --auth=scram-sha-256 --pwfile=/dev/stdin --no-instructions
  # Connections come from the activators; the password protects them.
  echo 'host all all all scram-sha-256' >>"$data.new/pg_hba.conf"
  mv "$data.new" "$data"
fi

# With TLS a client can name the sandbox from outside the cluster. The certificate is made once, and its key is only on the volume.
ssl=off
if command -v openssl >/dev/null; then
  ssl=on
  if [ ! -f "$data/server.key" ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=database \
      -keyout "$data/server.key.new" -out "$data/server.crt"
    chmod 600 "$data/server.key.new"
    mv "$data/server.key.new" "$data/server.key"
  fi
fi
exec postgres -D "$data" -h "$POD_IP" -k '' -c ssl="$ssl"
