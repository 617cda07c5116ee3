import { beforeEach, describe, expect, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { eq, inArray } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../api/web/locales/texts.ts';
import { auditLog, erasedPeople } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { settings } from '../../../src/db/schema/settings.ts';
import type { AuditAction } from '../../../src/queries/audit-log.ts';
import { publishedPath, soundFoldersIn } from '../../support/audio/sound-folders.ts';
import { aSteamId, erase, insertUser } from '../../support/database/builders.ts';
import { aPerson, insertEverythingAbout, insertRecordOf } from '../../support/database/everything-about.ts';
import { findTraces } from '../../support/database/traces.ts';
import { aToken, bearer } from '../../support/service/service.ts';
import { openWholeService } from '../../support/service/whole-service.ts';
import { waitFor } from '../../support/wait.ts';

const { data, notices, signIn } = PAGE_TEXTS.en;

const { db, connection, service, folder, signInAs, cli, succeed, expectRefusals } = await openWholeService();
const dataDir = join(folder, 'data');
const storageDir = join(folder, 'storage');
const soundFolders = soundFoldersIn({ dataDir, storageDir });
const { token: reader } = await aToken(db, 900, { now: new Date() });
const get = async (path: string) => (await service.get(path, bearer(reader))).text;

/** What the audit log says about these actions, oldest first. */
async function listEntries(...actions: AuditAction[]) {
  const { action, subject, details, actor, actorUserId } = auditLog;
  return db
    .select({ action, subject, details, actor, actorUserId })
    .from(auditLog)
    .where(inArray(action, actions))
    .orderBy(auditLog.id);
}
const BY_OPERATOR = { actor: null, actorUserId: null };

let player = aPerson(0);
beforeEach(() => {
  player = aPerson(player.number + 1);
});
const traces = () =>
  findTraces(connection, [dataDir, storageDir], [player.id, player.name, player.discordId]);
/** The tables that still name the player. */
const listTraced = async () =>
  [...new Set((await traces()).map((trace) => trace.replace(/^\d+ rows of (\w+):.*/, '$1')))].sort();

async function insertEverything() {
  await insertFiles();
  return insertEverythingAbout(db, player);
}

async function insertFiles(): Promise<void> {
  for (const path of Object.values(soundFolders)) await mkdir(path, { recursive: true });
  const sound = { steamId64: player.id, title: player.name };
  const [, queued] = await db
    .insert(roundSounds)
    .values([
      { ...sound, status: 'ready', uploadKey: `r${player.number}` },
      { ...sound, uploadKey: Bun.randomUUIDv7(), claimedUntil: new Date('2030-01-01') },
    ])
    .returning();
  if (!queued) throw new Error('no sounds');
  await Bun.write(publishedPath(soundFolders, player.id), player.name);
  await Bun.write(publishedPath(soundFolders, player.id, 'voice'), player.name);
  await Bun.write(join(soundFolders.inbox, queued.uploadKey, 'upload'), player.name);
  await Bun.write(join(soundFolders.orphans, `1-${player.id}.mp3`), player.name);
}

describe('users erase', () => {
  test('--penalties leaves no trace of a player in any table or file, and every response follows within 5 s', async () => {
    const { meta } = JSON.parse(await get('/penalties/changes'));
    const changes = `/penalties/changes?cursor=${meta.cursor}`;
    await insertEverything();
    expect(await get(changes)).toContain(player.name);
    expect((await traces()).length).toBeGreaterThan(15);
    const [before] = await db.select().from(penalties).where(eq(penalties.playerSteamId, player.id));

    expect(await succeed(`users erase ${player.id} --penalties --yes`)).toBe(
      `Erased ${player.id} and made 3 penalties anonymous\n`,
    );
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
    expect(await get(`/players/search?name=${player.name}`)).toContain('"data":[]');
    expect(await get(changes)).not.toContain(player.name);
    expect((await service.get(`/users/lookup?steamid64=${player.id}`, bearer(reader))).status).toBe(404);
    const erasure = { action: 'user.erased' as const, subject: 'erased', details: { penalties: 3 } };
    expect(await listEntries('user.erased')).toEqual([{ ...erasure, ...BY_OPERATOR }]);
    expect(await cli(`users export ${player.id}`)).toMatchObject({ code: 1, stdout: '' });
    expect(await cli(`users erase ${player.id} --yes`)).toMatchObject({ code: 1, stdout: '' });
  });

  test('users erase works for players without an account, and asks unless --yes is given', async () => {
    await insertRecordOf(db, player);
    expect(await succeed(`users erase ${player.id} --yes`)).toBe(
      `Erased ${player.id}; their penalties stay\n`,
    );
    const unconfirmed = "Without a terminal this can't be confirmed: use --yes";
    await expectRefusals({ [`users erase ${player.id} --penalties`]: unconfirmed });
    await succeed(`users erase [U:1:${39_734_272 + player.number}] --penalties --yes`);
    expect(await traces()).toEqual([]);
    await expectRefusals({
      [`users erase ${aSteamId(9999)} --yes`]: `Nothing is kept about "${aSteamId(9999)}"`,
    });
    // Before an import brings them.
    expect(await succeed(`users erase ${aSteamId(9998)} --penalties --yes`)).toBe(
      `Nothing was kept about ${aSteamId(9998)}; imports will keep them anonymous\n`,
    );
  });
});

describe('when the secret of erasures is lost', () => {
  const LOST = (count: string, whatFollows: string) =>
    `warning: ${count} not recognised, since the secret that identifies them is lost: ` +
    `${whatFollows} (docs/privacy.md, "Erased people")\n`;
  const RESTORE_FIRST = 'imports name them again, so restore it before you erase anybody';
  const findSecret = () => db.select().from(settings).where(eq(settings.key, 'erasure_secret'));

  async function loseSecretOf(...numbers: number[]): Promise<void> {
    await db.delete(erasedPeople);
    for (const number of numbers) {
      await erase(db, aSteamId(number), { withPenalties: true });
    }
    await db.delete(settings).where(eq(settings.key, 'erasure_secret'));
  }

  test('penalties import warns that those erased by it are not recognised', async () => {
    await loseSecretOf(801);
    const file = `${folder}/none.ndjson`;
    await Bun.write(file, '');
    const { code, stderr } = await cli(`penalties import ndjson ${file}`);
    expect([code, stderr]).toEqual([0, LOST('1 erased person is', 'this import may name them again')]);
  });

  test('users erase warns before it asks, and again each time, though there is a new secret', async () => {
    await loseSecretOf(801, 802);
    const warning = LOST('2 erased people are', RESTORE_FIRST);
    await insertUser(db, player.number);
    const asked = await cli(`users erase ${player.id}`);
    expect([asked.code, asked.stderr]).toEqual([
      1,
      `${warning}Without a terminal this can't be confirmed: use --yes\n`,
    ]);
    expect(await findSecret()).toBeEmpty();
    await insertUser(db, 803);
    for (const id of [player.id, aSteamId(803)]) {
      const erased = await cli(`--json users erase ${id} --penalties --yes`);
      expect([erased.code, erased.stderr]).toEqual([0, warning]);
      expect(JSON.parse(erased.stdout)).toEqual({ erased: id, account: true, penalties: 0, lostErasures: 2 });
    }
  });
});

describe('own data', () => {
  test('own data is one JSON attachment: all that is kept but secrets', async () => {
    const user = await insertEverything();
    const browser = await signInAs(player.number);
    expect((await browser.get('/account')).text).toContain('href="/account/data"');
    const page = await browser.get('/account/data');
    expect(page.headers.get('content-type')).toContain('application/json');
    expect(page.headers.get('content-disposition')).toBe(`attachment; filename="${player.id}.json"`);
    const data = JSON.parse(page.text);
    expect(data).toMatchObject({
      steamId64: player.id,
      account: { discordId: player.discordId, nickname: player.name },
      tokens: [{ name: 'test' }],
      sessions: [{}, {}],
      penalties: [{ playerName: player.name }],
      steamBans: [{ vacBans: 1 }],
    });
    expect(data.penaltiesGiven).toHaveLength(2);
    const actions = data.auditLog.map(({ action }: { action: string }) => action);
    expect(actions).toEqual(expect.arrayContaining(['discord.linked', 'feed.started', 'feed.stopped']));
    for (const secret of ['tokenHash', 'idHash']) expect(page.text).not.toContain(secret);
    expect(page.text).not.toContain(aSteamId(777));

    const read = async (who: string) => JSON.parse(await succeed(`users export ${who}`));
    expect((await read(player.id)).account.discordId).toBe(player.discordId);
    expect((await read(player.discordId)).steamId64).toBe(player.id);
    await expectRefusals({
      [`users export ${aSteamId(9999)}`]: `Nothing is kept about "${aSteamId(9999)}"`,
    });
    const exports = { action: 'user.exported' as const, subject: player.id as string, details: {} };
    expect(await listEntries('user.exported')).toEqual([
      { ...exports, actor: null, actorUserId: user.id },
      { ...exports, ...BY_OPERATOR },
      { ...exports, ...BY_OPERATOR },
    ]);
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
    expect(await listTraced()).toEqual(['penalties', 'penalty_events', 'penalty_tallies', 'player_names']);
    const byMember = { subject: 'erased', actor: 'member' as const, actorUserId: null };
    expect((await listEntries('sound.removed', 'user.deleted')).slice(-2)).toEqual([
      { ...byMember, action: 'sound.removed', details: {} },
      { ...byMember, action: 'user.deleted', details: { penalties: 0 } },
    ]);
    expect((await browser.post('/account/delete')).status).toBe(401);
  });
});
