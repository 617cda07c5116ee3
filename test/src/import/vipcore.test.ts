import { expect, test } from 'bun:test';
import pino from 'pino';
import { userFlags } from '../../../src/db/schema/accounts.ts';
import { createVipMirror } from '../../../src/import/vipcore.ts';
import { createMirrorMetrics } from '../../../src/mirror/rounds.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { createSourceFiles, editSource } from '../../support/import/source-file.ts';
import { readVipFlags, VIP_FLAGS, VIP_USERS } from '../../support/import/vip-users.ts';
import { waitFor } from '../../support/wait.ts';

const { db } = await createTestDatabase();
const createSource = createSourceFiles();

test('reads the VIPs of all servers', async () => {
  expect(await readVipFlags(createSource(VIP_USERS))).toEqual(VIP_FLAGS);
});

test('a row without an end gives nothing, since only 0 is for ever', async () => {
  const url =
    createSource(`create table vip_users (account_id bigint, sid bigint, "group" text, expires bigint);
    insert into vip_users values (39734273, 0, 'VIP', null), (39734274, 0, 'VIP', ''), (39734275, 0, 'VIP', 0)`);
  expect(await readVipFlags(url)).toEqual([`has_svip ${aSteamId(3)} null`]);
});

test('gives VIPs flags until they end; without the table everybody keeps theirs, and it is said once', async () => {
  const url = createSource(VIP_USERS);
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line).msg) });
  const metrics = createMetrics();
  const mirror = createVipMirror(
    {
      db,
      log,
      metrics: createMirrorMetrics(metrics),
    },
    { url, flags: [{ flag: 'has_svip', permissions: ['*'] }], intervalSeconds: 0.02 },
  );
  const listSvips = async () =>
    (await db.select().from(userFlags)).map(({ steamId64 }) => String(steamId64)).sort();
  const stopping = new AbortController();
  const ended = mirror.lead(stopping.signal);
  await waitFor(() => mirror.health().isUp);
  const all = [aSteamId(1), '76561200107749376', '76561202255233023'];
  expect(await listSvips()).toEqual(all.toSorted());
  expect((await metrics.render()).text).toContain('mirror_up{system="vipcore"} 1');
  editSource(url, 'alter table vip_users rename to gone');
  await waitFor(() => mirror.health().failures > 1);
  expect(await listSvips()).toEqual(all.toSorted());
  editSource(url, 'delete from gone where account_id > 2147483648');
  editSource(url, 'alter table gone rename to vip_users');
  await waitFor(() => mirror.health().isUp);
  expect(await listSvips()).toEqual([aSteamId(1), '76561200107749376'].toSorted());
  expect(warnings).toEqual(['mirroring VIPCore failed: retrying']);
  stopping.abort();
  await ended;
});
