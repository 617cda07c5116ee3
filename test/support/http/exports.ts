import { beforeEach, expect } from 'bun:test';
import { BASES } from '../../../api/app.ts';
import { aSteamId } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { aToken, bearer, NOW, startTestService } from '../service/service.ts';
import { waitFor } from '../wait.ts';
import { openUnread } from './raw-http.ts';

/** The last line of a whole export. */
export type ExportEnd = { end: true; count: number; cursor: string };

/**
 * A service whose penalties are exported by `caller`. Before each test there are no penalties, and the caller is an owner who
 * has exported nothing.
 */
export async function startExports() {
  const database = await createTestDatabase();
  const { db, connection } = database;
  const service = await startTestService({ databaseUrl: database.url });
  const caller = {
    owner: 900,
    token: '',
    async becomeAnother(): Promise<void> {
      caller.owner += 1;
      ({ token: caller.token } = await aToken(db, caller.owner));
    },
  };
  beforeEach(async () => {
    await connection`truncate penalties`;
    // As if the database had been made when the service's clock began.
    await connection`update penalty_event_state set expired_up_to = ${NOW.toISOString()}::text::timestamptz`;
    await caller.becomeAnother();
  });

  /** Asks one base after another: an owner has one export at a time. */
  async function exportAll(query = ''): Promise<{ records: unknown[]; end: ExportEnd }> {
    const texts: string[] = [];
    for (const base of BASES) {
      const { status, headers, text } = await service.ask(
        `${base}/penalties/export${query}`,
        bearer(caller.token),
      );
      expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
      expect(text).toEndWith('\n');
      texts.push(text);
    }
    expect(texts[1]).toBe(texts[0] ?? '');
    const lines =
      texts[0]
        ?.trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)) ?? [];
    const end = lines.pop();
    expect(end).toStrictEqual({
      end: true,
      count: lines.length,
      cursor: expect.stringMatching(/^[0-9a-f]{8}-[0-9]+$/),
    });
    return { records: lines, end };
  }

  /** What `/penalties` lists, oldest first. @param lift of every penalty that was lifted. */
  async function listAll({ query = '', lift }: { query?: string; lift: object }): Promise<unknown[]> {
    const { body } = await service.get(
      `/penalties?per_page=100${query.replace('?', '&')}`,
      bearer(caller.token),
    );
    const { data } = body as { data: { status: string }[] };
    return data
      .toReversed()
      .map((record) => ({ ...record, lifted: record.status === 'UNBANNED' ? lift : null }));
  }

  /** Fifteen hundred of 30 kB are 45 MB: more than the kernel takes for a client that does not read (33 MB). */
  async function fill(rows: number, { kilobytes = 30 } = {}): Promise<void> {
    await connection.begin(async (tx) => {
      // A busy machine may take longer than a statement may.
      await tx`set local statement_timeout = 0`;
      await tx`
        insert into penalties (type, status, player_name, player_steamid, admin_steamid, duration_minutes, reason, created_at)
        select 'warn', 'ACTIVE', 'Player', ${aSteamId(1)}::bigint, 0, 0, repeat('x', ${1000 * kilobytes}::int),
          timestamptz '2026-01-01Z' + (n * 7919 % 1000) * interval '1 minute'
        from generate_series(1, ${rows}::int) as n`;
    });
  }

  /** Begins an export and reads its first bytes. `readToEnd` gives all that is sent, also of one that is aborted. */
  async function open(origin = service.origin) {
    const { status, body } = await fetch(`${origin}/api/v1/penalties/export`, bearer(caller.token));
    expect(status).toBe(200);
    if (!body) throw new Error('there is no body');
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let chunk = await reader.read();
    const readToEnd = async () => {
      let text = '';
      try {
        for (; !chunk.done; chunk = await reader.read())
          text += decoder.decode(chunk.value, { stream: true });
      } catch {
        // The service aborted it.
      }
      return text;
    };
    return { readToEnd, cancel: () => reader.cancel() };
  }

  /** Begins an export whose client reads nothing of it. */
  async function readNothing() {
    const client = openUnread(service.origin, '/api/v1/penalties/export', bearer(caller.token).headers);
    await waitFor(async () => (await countSessions()) === 1);
    return client;
  }

  /** Connections that exports hold. */
  async function countSessions(): Promise<number> {
    const [row] = await connection<{ count: string }[]>`select count(*) from pg_stat_activity
      where application_name like 'export%' and datname = current_database()`;
    return Number(row?.count);
  }

  return { ...database, service, caller, exportAll, listAll, fill, open, readNothing, countSessions };
}
