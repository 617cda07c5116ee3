import postgres from 'postgres';

/**
 * The server that ours is compared with: `Bun.serve` and nothing else.
 * `bun bare-server.ts answer JSON` sends the same bytes and headers to everybody, or 304; `bun bare-server.ts penalties URL`
 * lists a player's penalties by SQL written by hand.
 */
const [, , mode, argument = ''] = process.argv;
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: mode === 'answer' ? answerFixed(argument) : answerPenalties(argument),
});
console.log(JSON.stringify({ port: server.port }));
process.on('SIGTERM', () => process.exit(0));

function answerFixed(argument: string): (request: Request) => Response {
  const { body, headers }: { body: string; headers: Record<string, string> } = JSON.parse(argument);
  const bytes = new TextEncoder().encode(body);
  const { 'content-type': _, ...bodyless } = headers;
  return (request) =>
    request.headers.get('if-none-match') === null
      ? new Response(bytes, { headers })
      : new Response(null, { status: 304, headers: bodyless });
}

function answerPenalties(databaseUrl: string): (request: Request) => Promise<Response> {
  const sql = postgres(databaseUrl, { max: 16 });
  const format = (at: Date) => `${at.toISOString().slice(0, 19)}+00:00`;
  return async (request) => {
    const query = new URL(request.url).searchParams;
    const player = query.get('steamid') ?? '';
    const now = new Date();
    const rows = await sql`
      select counted.*, listed.* from (
        select count(*) filter (where type = 'ban')::int as ban, count(*) filter (where type = 'mute')::int as mute,
          count(*) filter (where type = 'gag')::int as gag, count(*) filter (where type = 'silence')::int as silence,
          count(*) filter (where type = 'warn')::int as warn
        from penalties where player_steamid = ${player}
      ) as counted left join (
        select id, type, status, player_name, player_steamid, admin_name, admin_steamid, reason, duration_minutes,
          server_id, created_at, ends_at
        from penalties where player_steamid = ${player} order by created_at desc, id desc limit 50
      ) as listed on true
      order by created_at desc, id desc`;
    const { ban, mute, gag, silence, warn } = rows[0] ?? {};
    const total = ban + mute + gag + silence + warn;
    const data = rows.map((row) => ({
      penalty_type: row.type,
      id: Number(row.id),
      player_name: row.player_name,
      player_steamid: row.player_steamid,
      admin_name: row.admin_name,
      admin_steamid: row.admin_steamid,
      reason: row.reason,
      duration: row.duration_minutes,
      status: row.status === 'ACTIVE' && row.ends_at !== null && row.ends_at <= now ? 'EXPIRED' : row.status,
      server_id: row.server_id,
      created: format(row.created_at),
      ends: row.ends_at && format(row.ends_at),
    }));
    const meta = { current_page: 1, total, per_page: 50, last_page: Math.ceil(total / 50) };
    return Response.json({
      success: true,
      data,
      meta: { ...meta, counts: { ban, mute, gag, silence, warn }, cached_at: format(now) },
    });
  };
}
