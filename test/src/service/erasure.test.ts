import { beforeEach, describe, expect, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { and, eq } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../api/web/locales/texts.ts';
import { LOCKS } from '../../../src/db/locks.ts';
import { auditLog, erasedPeople, staffNotes, steamBans, users } from '../../../src/db/schema/accounts.ts';
import { discordFeeds } from '../../../src/db/schema/discord.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { recordAudit } from '../../../src/queries/audit-log.ts';
import { writePenalties } from '../../../src/queries/penalties/write.ts';
import { erasePlayer } from '../../../src/service/erase-player.ts';
import { openSounds, publishedPath } from '../../support/audio/sound-folders.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { findTraces } from '../../support/database/traces.ts';
import { aToken, bearer } from '../../support/service/service.ts';
import { openWholeService } from '../../support/service/whole-service.ts';
import { waitFor } from '../../support/wait.ts';

const { data, notices, signIn } = PAGE_TEXTS.en;

const { db, connection, service, folder, signInAs, cli } = await openWholeService();
const dataDir = join(folder.path, 'data');
const storageDir = join(folder.path, 'storage');
const { sounds, folders: soundFolders } = await openSounds({ dataDir, storageDir });
const { token: reader } = await aToken(db, 900, { now: new Date() });
const get = async (path: string) => (await service.get(path, bearer(reader))).text;

const player = { number: 0, id: aSteamId(0), nickname: '', penaltyName: '', discordId: '' };
beforeEach(() => {
  const number = player.number + 1;
  Object.assign(player, {
    number,
    id: aSteamId(number),
    nickname: `Ksywka${number}x`,
    penaltyName: `Rzeznik${number}x`,
    discordId: `8035111022467${8000 + number}`,
  });
});
const traces = () =>
  findTraces(
    connection,
    [dataDir, storageDir],
    [player.id, player.nickname, player.penaltyName, player.discordId, `disc${player.number}x`],
  );

/** A penalty of the player, one they gave, and one they lifted. */
async function insertRecord(): Promise<void> {
  await insertPenalties(db, [
    {
      playerSteamId: player.id,
      playerName: player.penaltyName,
      reason: `Wallhack ${player.number}`,
      createdAt: new Date(),
    },
    {
      playerSteamId: aSteamId(777),
      adminSteamId: player.id,
      adminName: player.penaltyName,
      createdAt: new Date(),
    },
    {
      playerSteamId: aSteamId(778),
      status: 'UNBANNED',
      liftedAt: new Date(),
      liftedBySteamId: player.id,
      liftedByName: player.penaltyName,
      createdAt: new Date(),
    },
  ]);
}

/** Everything that can be kept about somebody, in tables and files. */
async function insertEverything(): Promise<void> {
  const user = await insertUser(db, player.number, {
    nickname: player.nickname,
    discordId: player.discordId,
    discordUsername: `disc${player.number}x`,
  });
  await aToken(db, player.number, { now: new Date() });
  await insertRecord();
  await db.insert(steamBans).values({
    steamId64: player.id,
    vacBans: 1,
    gameBans: 0,
    daysSinceLastBan: 3,
    isCommunityBanned: false,
    checkedAt: new Date(),
  });
  await db.insert(staffNotes).values({ steamId64: player.id, text: player.nickname, createdAt: new Date() });
  await db.insert(discordFeeds).values({
    subject: 'penalties',
    channelId: String(player.number),
    guildId: '1',
    startedBy: player.discordId,
    locale: 'pl',
    epoch: 'x',
    cursor: 0,
  });
  await recordAudit(db, {
    actor: { userId: user.id },
    action: 'discord.linked',
    subject: player.id,
    details: { discordId: player.discordId, username: player.nickname },
  });
  await recordAudit(db, {
    actor: { userId: user.id },
    action: 'feed.started',
    subject: `#${player.number}`,
    details: { feed: 'penalties' },
  });
  await db.insert(auditLog).values({
    actor: 'discord-member',
    action: 'feed.stopped',
    subject: `#${player.number}`,
    details: { feed: 'penalties', discordId: player.discordId },
  });
  await insertFiles();
}

async function insertFiles(): Promise<void> {
  for (const path of Object.values(soundFolders)) await mkdir(path, { recursive: true });
  const [ready, queued] = await db
    .insert(roundSounds)
    .values([
      { steamId64: player.id, title: player.nickname, status: 'ready', uploadKey: `r${player.number}` },
      {
        steamId64: player.id,
        title: player.nickname,
        uploadKey: Bun.randomUUIDv7(),
        claimedUntil: new Date('2030-01-01'),
      },
    ])
    .returning();
  if (!ready || !queued) throw new Error('no sounds');
  await Bun.write(publishedPath(soundFolders, player.id), player.penaltyName);
  await Bun.write(publishedPath(soundFolders, player.id, 'voice'), player.penaltyName);
  await Bun.write(join(soundFolders.inbox, queued.uploadKey, 'upload'), player.penaltyName);
  await Bun.write(join(soundFolders.orphans, `1-${player.id}.mp3`), player.penaltyName);
}

describe('users erase', () => {
  test('--penalties leaves no trace of a player in any table or file, and every response follows within 5 s', async () => {
    const { meta } = JSON.parse(await get('/penalties/changes'));
    const changes = `/penalties/changes?cursor=${meta.cursor}`;
    await insertEverything();
    expect(await get(changes)).toContain(player.penaltyName);
    expect((await traces()).length).toBeGreaterThan(15);
    const [before] = await db.select().from(penalties).where(eq(penalties.playerSteamId, player.id));

    const erased = await cli('users', 'erase', player.id, '--penalties', '--yes');
    expect(erased).toEqual({
      code: 0,
      stdout: `Erased ${player.id} and made 3 penalties anonymous\n`,
      stderr: '',
    });
    expect(await traces()).toEqual([]);

    const isFileGone = async () => (await service.ask(`/storage/roundsound/${player.id}.mp3`)).status === 404;
    await waitFor(isFileGone);
    const [after] = await db
      .select()
      .from(penalties)
      .where(eq(penalties.id, before?.id ?? 0));
    expect(after).toMatchObject({ playerSteamId: '0', playerName: '', reason: `Wallhack ${player.number}` });
    const [given] = await db
      .select()
      .from(penalties)
      .where(eq(penalties.playerSteamId, aSteamId(777)));
    expect(given).toMatchObject({ adminSteamId: '0', adminName: 'Former admin' });
    expect(await get(`/penalties?steamid=${player.id}`)).toContain('"total":0');
    expect(await get(`/penalties/active?steamids=${player.id}`)).toContain('"is_banned":false');
    expect(await get(`/players/search?name=${player.penaltyName}`)).toContain('"data":[]');
    expect(await get(changes)).not.toContain(player.penaltyName);
    expect((await service.get(`/users/lookup?steamid64=${player.id}`, bearer(reader))).status).toBe(404);
    const entries = await db.select().from(auditLog).where(eq(auditLog.action, 'user.erased'));
    expect(entries.at(-1)).toMatchObject({ subject: 'erased', details: { penalties: 3 } });
    expect(await cli('users', 'export', player.id)).toMatchObject({ code: 1, stdout: '' });
    expect(await cli('users', 'erase', player.id, '--yes')).toMatchObject({ code: 1, stdout: '' });
  });

  test('users erase without --penalties keeps the penalties and their names', async () => {
    await insertEverything();
    const erased = await cli('users', 'erase', player.id, '--yes');
    expect(erased).toEqual({ code: 0, stdout: `Erased ${player.id}; their penalties stay\n`, stderr: '' });
    const left = (await traces()).map((trace) => trace.replace(/^\d+ rows of (\w+):.*/, '$1'));
    expect([...new Set(left)].sort()).toEqual([
      'penalties',
      'penalty_events',
      'penalty_tallies',
      'player_names',
    ]);
    expect(await db.select().from(users).where(eq(users.steamId64, player.id))).toBeEmpty();
  });

  test('works for players without an account, and asks unless --yes is given', async () => {
    await insertRecord();
    expect(await cli('users', 'erase', player.id, '--penalties')).toEqual({
      code: 1,
      stdout: '',
      stderr: "Without a terminal this can't be confirmed: use --yes\n",
    });
    expect(
      (await cli('users', 'erase', `[U:1:${39_734_272 + player.number}]`, '--penalties', '--yes')).code,
    ).toBe(0);
    expect(await traces()).toEqual([]);
    expect(await cli('users', 'erase', aSteamId(9999), '--yes')).toEqual({
      code: 1,
      stdout: '',
      stderr: `Nothing is kept about "${aSteamId(9999)}"\n`,
    });
    // Before an import brings them.
    expect(await cli('users', 'erase', aSteamId(9998), '--penalties', '--yes')).toEqual({
      code: 0,
      stdout: `Nothing was kept about ${aSteamId(9998)}; imports will keep them anonymous\n`,
      stderr: '',
    });
  });

  test('waits for a writer of penalties, and takes out what it wrote', async () => {
    let erasing: Promise<unknown> = Promise.resolve();
    await writePenalties(db, async (importing) => {
      erasing = erasePlayer(db, sounds, {
        steamId64: player.id,
        withPenalties: true,
        actor: 'operator',
      });
      await waitFor(async () => {
        const [waiting] = await connection`
          select 1 from pg_locks where locktype = 'advisory' and objid = ${LOCKS.erasure} and not granted`;
        return waiting !== undefined;
      });
      await insertPenalties(importing, [{ playerName: player.penaltyName, playerSteamId: player.id }]);
    });
    await erasing;
    expect(await traces()).toEqual([]);
  });

  test('holds against imports: they keep the rows without the person, and change nothing twice', async () => {
    const file = join(folder.path, `erased-${player.number}.ndjson`);
    const line = (id: string, values: object) =>
      JSON.stringify({
        penalty_type: 'ban',
        source_id: id,
        created: '2026-11-20T10:00:00Z',
        duration: 0,
        player_steamid: aSteamId(776),
        player_name: 'Other',
        ...values,
      });
    const lines = [
      line('1', { player_steamid: player.id, player_name: player.penaltyName }),
      line('2', { admin_steamid: player.id, admin_name: player.penaltyName }),
      line('3', {}),
    ];
    await Bun.write(file, `${lines.slice(0, 1).join('\n')}\n`);
    const source = ['--source', `s${player.number}`];
    expect((await cli('penalties', 'import', 'ndjson', file, ...source)).code).toBe(0);
    expect((await cli('users', 'erase', player.id, '--penalties', '--yes')).code).toBe(0);
    expect(await traces()).toEqual([]);

    await Bun.write(file, `${lines.join('\n')}\n`);
    for (const round of [1, 2]) {
      const imported = await cli('--json', 'penalties', 'import', 'ndjson', file, ...source);
      expect(imported.code).toBe(0);
      const summary = JSON.parse(imported.stdout);
      expect([round, summary.added, summary.changed]).toEqual([round, round === 1 ? 2 : 0, 0]);
      await Bun.sleep(0);
      expect((await traces()).filter((trace) => !trace.includes('.ndjson'))).toEqual([]);
    }
    const rows = await db
      .select()
      .from(penalties)
      .where(and(eq(penalties.source, `s${player.number}`)))
      .orderBy(penalties.sourceId);
    expect(rows).toMatchObject([
      { playerSteamId: '0', playerName: '' },
      { playerSteamId: aSteamId(776), adminSteamId: '0', adminName: 'Former admin' },
      { playerSteamId: aSteamId(776), playerName: 'Other' },
    ]);
    expect(JSON.stringify(await db.select().from(erasedPeople))).not.toContain(player.id);
  });
});

describe('own data', () => {
  test('own data is one JSON attachment: all that is kept but secrets', async () => {
    await insertEverything();
    const browser = await signInAs(player.number);
    expect((await browser.get('/account')).text).toContain('href="/account/data"');
    const page = await browser.get('/account/data');
    expect(page.headers.get('content-type')).toContain('application/json');
    expect(page.headers.get('content-disposition')).toBe(`attachment; filename="${player.id}.json"`);
    const data = JSON.parse(page.text);
    expect(data).toMatchObject({
      steamId64: player.id,
      account: { discordId: player.discordId, nickname: player.nickname },
      tokens: [{ name: 'test' }],
      sessions: [{}],
      penalties: [{ playerName: player.penaltyName }],
      steamBans: [{ vacBans: 1 }],
    });
    expect(data.penaltiesGiven).toHaveLength(2);
    const actions = data.auditLog.map(({ action }: { action: string }) => action);
    for (const action of ['discord.linked', 'feed.started', 'feed.stopped'])
      expect(actions).toContain(action);
    for (const secret of ['tokenHash', 'idHash']) expect(page.text).not.toContain(secret);
    expect(page.text).not.toContain(aSteamId(777));

    const exported = await cli('users', 'export', player.id);
    expect(JSON.parse(exported.stdout).account.discordId).toBe(player.discordId);
    expect(JSON.parse((await cli('users', 'export', player.discordId)).stdout).steamId64).toBe(player.id);
    expect(await cli('users', 'export', aSteamId(9999))).toEqual({
      code: 1,
      stdout: '',
      stderr: `Nothing is kept about "${aSteamId(9999)}"\n`,
    });
    const entries = await db.select().from(auditLog).where(eq(auditLog.subject, player.id));
    expect(entries.filter(({ action }) => action === 'user.exported')).toHaveLength(3);
  });

  test('goes with the account, at once, but for the penalties', async () => {
    await insertEverything();
    const { token } = await aToken(db, player.number, { now: new Date() });
    const browser = await signInAs(player.number);
    expect((await browser.get('/account')).text).toContain(data.removeTitle);
    const done = await browser.follow(await browser.post('/account/delete'));
    expect(done.text).toContain(notices['account-deleted']);
    expect(done.text).toContain(signIn.button);
    const isRefused = async () => (await service.ask('/api/v1/bans', bearer(token))).status === 401;
    await waitFor(isRefused);
    const left = (await traces()).map((trace) => trace.replace(/^\d+ rows of (\w+):.*/, '$1'));
    expect([...new Set(left)].sort()).toEqual([
      'penalties',
      'penalty_events',
      'penalty_tallies',
      'player_names',
    ]);
    const [entry] = await db.select().from(auditLog).where(eq(auditLog.action, 'user.deleted'));
    expect(entry).toMatchObject({ actor: 'member', subject: 'erased' });
    expect((await browser.post('/account/delete')).status).toBe(401);
  });
});
