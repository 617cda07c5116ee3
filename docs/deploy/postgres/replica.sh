#!/bin/bash
# Copies the primary the first time, and follows it from then on.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  rm -rf "$PGDATA.new"
  PGPASSWORD="$REPLICATION_PASSWORD" pg_basebackup --host="${PRIMARY_HOST:-postgres}" --port="${PRIMARY_PORT:-5432}" \
    --username=replicator --pgdata="$PGDATA.new" --slot="${REPLICATION_SLOT:-replica}" --write-recovery-conf --wal-method=stream
  mkdir -p "$PGDATA"
  rmdir "$PGDATA"
  mv "$PGDATA.new" "$PGDATA"
fi
# The image's own start gives the files to the account postgres and starts the server as it.
exec docker-entrypoint.sh "$@"
