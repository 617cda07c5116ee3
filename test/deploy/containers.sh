#!/bin/bash
# Builds the image and starts compose.yaml and compose.scale.yaml as operators do: bash test/deploy/containers.sh
# Needs root and a running Docker with docker-compose, as in Debian's packages docker.io and docker-compose. A base image that
# cannot be pulled is made from Debian's packages (with debootstrap) and this machine's Bun; the output names them.
set -euo pipefail
cd "$(dirname "$0")/../.."
for program in docker docker-compose curl; do
  command -v "$program" >/dev/null || { echo "NOT RUN: $program is missing"; exit 0; }
done
docker info >/dev/null 2>&1 || { echo 'NOT RUN: no Docker daemon responds'; exit 0; }
export DOCKER_BUILDKIT=0 COMPOSE_DOCKER_CLI_BUILD=0
work=$(mktemp -d)
compose=()
finish() {
  [ ${#compose[@]} = 0 ] || "${compose[@]}" down --volumes --timeout 10 >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT
step() { echo "== $*"; }
fail() {
  echo "FAILED: $*"
  [ ${#compose[@]} = 0 ] || "${compose[@]}" logs --no-color --tail 15 2>&1 | cut -c -300
  exit 1
}
# Repeats a command each second until it succeeds, for at most the given number of seconds.
await() {
  local seconds=$1 what=$2
  shift 2
  for _ in $(seq "$seconds"); do
    "$@" >/dev/null 2>&1 && return
    sleep 1
  done
  fail "$what"
}

# ---- Base images ----

# Makes an image from standard input, a Dockerfile on top of Debian, with the files of a folder.
make_image() {
  docker image inspect community-test-debian >/dev/null 2>&1 || {
    debootstrap --variant=minbase bookworm "$work/debian" http://deb.debian.org/debian >/dev/null
    rm -rf "$work"/debian/{var/cache/apt,usr/share/{doc,info,locale,man}}
    tar -C "$work/debian" -c . | docker import - community-test-debian >/dev/null
  }
  cat >"$2/Dockerfile"
  docker build --quiet --network host --tag "$1" "$2" >/dev/null 2>&1
}
need_image() {
  docker image inspect "$1" >/dev/null 2>&1 && return
  docker pull --quiet "$1" >/dev/null 2>&1 && return
  echo "   $1 cannot be pulled: made from Debian's packages"
  local folder
  folder=$(mktemp -d -p "$work")
  "$2" "$1" "$folder"
}
make_bun() {
  cp "$(readlink -f "$(command -v bun)")" "$2/bun"
  cp /etc/ssl/certs/ca-certificates.crt "$2/"
  make_image "$1" "$2" <<'DOCKERFILE'
FROM community-test-debian
RUN groupadd --gid 1000 bun && useradd --uid 1000 --gid bun --create-home bun
COPY bun /usr/local/bin/
COPY ca-certificates.crt /etc/ssl/certs/
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
DOCKERFILE
}
make_postgres() {
  cat >"$2/docker-entrypoint.sh" <<'ENTRYPOINT'
#!/bin/bash
# What the Compose files use of the official image's entrypoint.
set -euo pipefail
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" && chown -R postgres:postgres /var/lib/postgresql && chmod 700 "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --encoding=UTF8 --locale=C.UTF-8 --username="$POSTGRES_USER" --pwfile=<(echo "$POSTGRES_PASSWORD") \
    --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl start --wait --options="-c listen_addresses=''" >/dev/null
  createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB"
  for script in /docker-entrypoint-initdb.d/*.sh; do [ ! -e "$script" ] || bash "$script"; done
  pg_ctl stop --wait >/dev/null
fi
exec "$@" -c listen_addresses='*'
ENTRYPOINT
  chmod +x "$2/docker-entrypoint.sh"
  make_image "$1" "$2" <<'DOCKERFILE'
FROM community-test-debian
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql
ENV PATH=/usr/lib/postgresql/15/bin:$PATH PGDATA=/var/lib/postgresql/18/docker
COPY docker-entrypoint.sh /usr/local/bin/
ENTRYPOINT ["docker-entrypoint.sh"]
DOCKERFILE
}
make_caddy() {
  make_image "$1" "$2" <<'DOCKERFILE'
FROM community-test-debian
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends caddy
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
DOCKERFILE
}
make_valkey() {
  make_image "$1" "$2" <<'DOCKERFILE'
FROM community-test-debian
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-server \
  && ln -s redis-server /usr/bin/valkey-server && ln -s redis-cli /usr/bin/valkey-cli
DOCKERFILE
}
step 'base images'
base=$(sed -n 's/^FROM \(.*\) AS packages/\1/p' Dockerfile)
need_image "$base" make_bun
need_image postgres:18 make_postgres
need_image caddy:2 make_caddy
need_image valkey/valkey:8 make_valkey

# ---- The image ----

step 'the image'
docker build --quiet --network host --tag community-api . >/dev/null 2>&1 || fail build
megabytes() { echo $(($(docker image inspect --format '{{.Size}}' "$1") / 1000000)); }
echo "   $(megabytes community-api) MB, of which the base $base has $(megabytes "$base")"

# The Compose files in a folder, since they read .env there. docker-compose 1.29 knows no top-level name.
cp -r compose*.yaml docs "$work"
sed -i '/^name:/d' "$work"/compose*.yaml
sed -i 's/build: \./image: community-api/' "$work/compose.yaml"
sed -i '/build: \./d' "$work/compose.scale.yaml"
printf '%s\n' POSTGRES_PASSWORD=one REPLICATION_PASSWORD=two SITE_ADDRESS=localhost PUBLIC_URL=https://localhost >"$work/.env"

# ---- compose.yaml ----

step 'compose.yaml'
compose=(docker-compose --project-directory "$work" --project-name community-test --file "$work/compose.yaml")
"${compose[@]}" up -d >/dev/null 2>&1 || fail 'up'
await 60 '/readyz' curl -fs http://127.0.0.1:3000/readyz
cli() { "${compose[@]}" exec -T "${service:-app}" bun src/cli.ts "$@"; }
cli servers add --name 'Only Mirage #1' --address 192.0.2.1:27015 --mode Competitive --region EU >/dev/null 2>&1 || fail 'servers add'
await 10 '/servers without the server' sh -c "curl -fs http://127.0.0.1:3000/api/v1/servers | grep 'Only Mirage #1'"
cli backup /data/community.tar.gz >/dev/null || fail 'backup'
"${compose[@]}" exec -T app test -s /data/community.tar.gz || fail 'no backup in the volume'
"${compose[@]}" down --volumes --timeout 10 >/dev/null 2>&1

# ---- compose.scale.yaml ----

step 'compose.scale.yaml'
compose=(docker-compose --project-directory "$work" --project-name community-scale --file "$work/compose.scale.yaml")
service=worker
"${compose[@]}" up -d >/dev/null 2>&1 || fail 'up'
await 120 '/readyz through Caddy' curl -fsk https://localhost/readyz
token=$(cli tokens create --steamid64 76561198000000001 --name test | grep -oE 'capi_[A-Za-z0-9_-]+' | head -1) || fail 'tokens create'
list() { curl -fsk -H "Authorization: Bearer $token" https://localhost/api/v1/penalties; }
await 30 '/penalties through Caddy' list
# As Prometheus, the only address in METRICS_ALLOW.
served_by() {
  docker run --rm --network community-scale_default --ip 172.30.91.3 community-api \
    bun -e "process.stdout.write(await (await fetch('http://$1:3000/metrics')).text())" |
    awk '/http_requests_total{.*route="listPenalties"/ { sum += $NF } END { print sum + 0 }'
}
for _ in $(seq 6); do list >/dev/null || fail '/penalties'; done
for process in api1 api2; do
  [ "$(served_by "$process")" -gt 0 ] || fail "$process answered nothing"
  echo "   $process answered $(served_by "$process") of the requests for /penalties"
done
replica_reads() {
  [ "$("${compose[@]}" exec -T replica psql -U community -h 127.0.0.1 community -tAc \
    "SELECT (SELECT pg_is_in_recovery()) AND sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0)) > 0
     FROM pg_stat_user_tables WHERE relname LIKE 'penalt%'" <<<'')" = t ]
}
"${compose[@]}" exec -T replica sh -c 'echo "127.0.0.1:5432:community:community:one" > ~/.pgpass; chmod 600 ~/.pgpass'
await 30 'the replica was not read' replica_reads
echo '   the replica was read'

step 'a restart one by one'
while [ ! -e "$work/stop" ]; do
  curl -sk -o /dev/null -w '%{http_code}\n' --max-time 15 https://localhost/api/v1/servers || true
  sleep 0.05
done >"$work/codes" &
for process in api1 api2 worker; do
  "${compose[@]}" up -d --no-deps --force-recreate "$process" >/dev/null 2>&1 || fail "$process did not start"
  await 60 "$process did not become healthy" sh -c \
    "docker inspect --format '{{.State.Health.Status}}' community-scale_${process}_1 | grep -qx healthy"
done
touch "$work/stop"
wait
sort "$work/codes" | uniq -c | awk '{ print "   " $1 " responses with " $2 }'
grep -q 200 "$work/codes" || fail 'nothing was requested'
! grep -qE '^(000|5..)' "$work/codes" || fail 'a request was lost'
echo 'NOT TRIED: a certificate of Let'"'"'s Encrypt, IPv6 from outside, several machines, the profile monitoring'
echo PASSED
