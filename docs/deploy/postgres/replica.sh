#!/bin/bash
# Copies the primary the first time, and follows it from then on. A second replica needs another REPLICATION_SLOT.
set -euo pipefail
host=${PRIMARY_HOST:-postgres} port=${PRIMARY_PORT:-5432} slot=${REPLICATION_SLOT:-replica}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # The slot of an earlier copy may be invalid by now. A slot in use cannot be dropped, and then the copy below is refused.
  PGPASSWORD="$REPLICATION_PASSWORD" psql "host=$host port=$port user=replicator replication=true" \
    --command "DROP_REPLICATION_SLOT \"$slot\"" 2>/dev/null || true
  # pg_basebackup would make missing parents readable only by root.
  mkdir -p "$PGDATA"
  rm -rf "$PGDATA.new"
  PGPASSWORD="$REPLICATION_PASSWORD" pg_basebackup --host="$host" --port="$port" --username=replicator \
    --pgdata="$PGDATA.new" --create-slot --slot="$slot" --write-recovery-conf --wal-method=stream
  # Otherwise mv would move the copy into the folder instead of replacing it.
  rmdir "$PGDATA"
  mv "$PGDATA.new" "$PGDATA"
fi
# The image's own start gives the files to the account postgres and starts the server as it.
exec docker-entrypoint.sh "$@"
