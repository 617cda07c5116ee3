import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { moderationRoutes } from '../../../../api/web/moderation/moderation.ts';
import { auditLog, staffNotes } from '../../../../src/db/schema/accounts.ts';
import { heldRemovals } from '../../../../src/db/schema/held-removals.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { listAuditEntries } from '../../../../src/queries/audit-log.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../../../support/database/builders.ts';
import { startSteamApi } from '../../../support/providers/steam-api.ts';
import { type Browser, openBrowser } from '../../../support/web/browser.ts';
import { rowsOf, textOf } from '../../../support/web/page-text.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

const steamApi = startSteamApi();
const { db, site, startSite, signedIn } = await openUserSite({
  steamApi: { apiUrl: steamApi.url, apiKey: steamApi.key },
  panels: [
    { source: 'simpleadmin', table: 'sa_mutes', address: 'https://panel.example/?id={id}&of={steamid64}' },
  ],
});
const MODERATION = '/account/moderation';
const NOW = new Date('2026-11-21T12:00:00Z');
const ADMIN = aSteamId(901);
const MODERATOR = aSteamId(902);
const ALA = aSteamId(1001);
const OLA = aSteamId(1002);
const [KOWALSKI, KOWALCZYK, NEWCOMER] = [aSteamId(1003), aSteamId(1004), aSteamId(1005)];
let admin: Browser;
let moderator: Browser;
let member: Browser;
/** Ids of penalties, in the order in which they are inserted below. */
let ids: number[];

beforeEach(() => {
  site.clock.now = NOW;
});

beforeAll(async () => {
  await insertUser(db, 901, { nickname: 'Szef', isAdmin: true });
  await insertUser(db, 902, { nickname: 'Moderatorka', isModerator: true });
  await insertUser(db, 1004, {
    nickname: 'Kowalczyk',
    discordId: '80351110224678912',
    discordUsername: 'kowal',
    hidesDiscord: true,
  });
  const server = await insertServer(db, { name: 'Mirage 24/7' });
  const at = (days: number) => new Date(NOW.getTime() - days * 86_400_000);
  const [byAla, byOla] = [
    { adminSteamId: ALA, adminName: 'Ala' },
    { adminSteamId: OLA, adminName: 'Ola' },
  ];
  const kowalski = { playerSteamId: KOWALSKI, playerName: 'Kowalski' };
  const kowalczyk = { playerSteamId: KOWALCZYK, playerName: 'Kowalczyk' };
  const rows = await insertPenalties(db, [
    { ...kowalski, ...byAla, createdAt: at(3), serverId: server.id, reason: 'Aimbot' },
    { ...kowalski, ...byAla, createdAt: at(20), serverId: 0, reason: 'Spam', type: 'gag', status: 'EXPIRED' },
    {
      ...kowalczyk,
      ...byOla,
      createdAt: at(60),
      serverId: 0,
      reason: 'Multikonto',
      type: 'mute',
      status: 'UNBANNED',
      liftedAt: at(50),
      liftedByName: 'Ala',
      liftedBySteamId: ALA,
      liftReason: 'Multikonto',
      source: 'simpleadmin',
      sourceTable: 'sa_mutes',
      sourceId: '7',
      goneAt: at(1),
    },
    {
      ...kowalczyk,
      adminSteamId: '0' as never,
      adminName: 'Console',
      createdAt: at(100),
      type: 'warn',
      serverId: 0,
    },
  ]);
  ids = rows.map(({ id }) => id);
  admin = await signedIn(901);
  moderator = await signedIn(902);
  member = await signedIn(903);
});

test('moderators open penalties, admins, records and notes, members and visitors nothing of moderation', async () => {
  const routes = moderationRoutes({} as never);
  const statusOf = async (browser: Browser, { method, path }: (typeof routes)[number]) => {
    const address = `/account${path.replace(':steamid64', KOWALCZYK).replace(':id', '9')}`;
    return (method === 'GET' ? await browser.get(address) : await browser.post(address)).status;
  };
  const stranger = openBrowser(site.origin);
  for (const browser of [member, moderator]) await browser.get('/account');
  const open: string[] = [];
  for (const route of routes) {
    const { method, path } = route;
    expect([path, await statusOf(member, route)]).toEqual([path, 403]);
    expect([path, await statusOf(stranger, route)]).toEqual([path, method === 'GET' ? 303 : 401]);
    if ((await statusOf(moderator, route)) !== 403)
      open.push(`${method} ${path.slice(MODERATION.length - 8)}`);
  }
  expect(open).toEqual([
    'GET ',
    'GET /penalties',
    'GET /penalties/:id',
    'POST /penalties/:id/lift',
    'GET /admins',
    'GET /guide',
    'GET /users/:steamid64',
    'POST /users/:steamid64/notes',
    'POST /users/:steamid64/notes/:note/delete',
  ]);
});

test('moderators who open the start of moderation are led to the penalties', async () => {
  expect((await moderator.get(`${MODERATION}?q=ala`)).location).toBe(`${MODERATION}/penalties`);
  expect((await admin.get(MODERATION)).status).toBe(200);
});

test('administrators see what is held back, and moderators nothing of it', async () => {
  const { held } = en.moderation;
  const paths = [MODERATION, `${MODERATION}/admins`];
  for (const path of paths) expect((await admin.get(path)).text).not.toContain(held.title);
  await db.insert(heldRemovals).values([
    { system: 'sourcebans', kind: 'penalties', subject: 'sb_bans', removals: 4316, since: NOW },
    { system: 'vipcore', kind: 'flags', subject: 'has_svip', removals: 56, since: NOW },
  ]);
  for (const path of paths) {
    const rows = rowsOf((await admin.get(path)).text).join('\n');
    expect(rows).toMatch(/^sourcebans sb_bans 4316 /m);
    expect(rows).toMatch(new RegExp(`^vipcore ${en.account.badges.hasSvip} 56 `, 'm'));
  }
  expect((await moderator.get(`${MODERATION}/admins`)).text).not.toContain(held.title);
  await db.delete(heldRemovals);
});

test('moderators see no account data of a player, nor links to pages for admins', async () => {
  const record = `${MODERATION}/users/${KOWALCZYK}`;
  const page = textOf((await moderator.get(record)).text);
  expect(page).not.toContain('kowal');
  expect(page).not.toMatch(/API tokens|Flags|Block|Round-end sound/);
  expect(textOf((await admin.get(record)).text)).toContain('kowal 80351110224678912');
  const account = await moderator.get('/account');
  expect(account.text).toContain(`href="${MODERATION}/penalties"`);
  expect(account.text).not.toContain(`href="${MODERATION}"`);
});

test('moderators find players by their Discord account unless they hide it; admins do, and find out who is banned', async () => {
  const found = async (browser: Browser, search: Record<string, string>) =>
    rowsOf((await browser.get(`${MODERATION}/penalties?${new URLSearchParams(search)}`)).text).length;
  for (const player of ['<@80351110224678912>', '80351110224678912', '@KOWAL']) {
    expect([player, await found(admin, { player }), await found(moderator, { player })]).toEqual([
      player,
      2,
      0,
    ]);
  }
  const account = String(BigInt(KOWALSKI) - 76561197960265728n);
  expect(await found(moderator, { player: account })).toBe(2);
  expect(await found(moderator, { admin: String(BigInt(ALA) - 76561197960265728n) })).toBe(2);
  const choice = textOf((await moderator.get(`${MODERATION}/penalties?player=kowal`)).text);
  expect(choice).toContain(`Kowalski ${en.penalties.inForce.ban} ${en.penalties.count(2)}`);
  expect(choice).toContain(`Kowalczyk ${en.penalties.count(2)}`);
});

describe('the list of penalties', () => {
  const listed = async (query: string) => {
    const { text } = await moderator.get(`${MODERATION}/penalties${query}`);
    const numbers = rowsOf(text).map((row) => ids.indexOf(Number(/#(\d+)/.exec(row)?.[1])));
    return { numbers, total: /card-aside">(\d+)/.exec(text)?.[1], text };
  };

  test('shows everything in a row, newest first', async () => {
    const { types, permanent, statusOf, noServer, console } = en.penalties;
    const { text, total } = await listed('');
    expect(total).toBe('4');
    expect(rowsOf(text)).toEqual([
      `Kowalski ${types.ban} #${ids[0]} Aimbot ${permanent('ban')} Ala 3 days ago Mirage 24/7`,
      `Kowalski ${types.gag} #${ids[1]} Spam ${statusOf('gag', 'EXPIRED')} Ala 20 days ago ${noServer}`,
      `Kowalczyk ${types.mute} #${ids[2]} Multikonto ${statusOf('mute', 'UNBANNED')} 50 days ago Ola 60 days ago ${noServer}`,
      `Kowalczyk ${types.warn} #${ids[3]} Wallhack ${permanent('warn')} ${console} 3 months ago ${noServer}`,
    ]);
    expect(text).toContain(`href="${MODERATION}/users/${KOWALSKI}"`);
  });

  test.each<[string, number[]]>([
    ['type=ban', [0]],
    ['type=ban&type=mute', [0, 2]],
    ['type=ban,mute,nonsense', [0, 2]],
    ['status=ACTIVE', [0, 3]],
    ['server_id=0', [1, 2, 3]],
    ['server_id=1', [0]],
    [`player=${KOWALSKI}`, [0, 1]],
    ['player=kowalcz', [2, 3]],
    ['player=nobody', []],
    ['admin=ALA', [0, 1]],
    [`admin=${OLA}&type=mute`, [2]],
    ['admin=nobody', []],
    ['created_from=2026-11-18', [0]],
    ['created_from=2026-11-01&created_to=2026-11-18', [0, 1]],
    ['created_to=2026-09-22', [2, 3]],
    ['created_to=2026-13-01&created_from=x', [0, 1, 2, 3]],
    ['created_to=9999-12-31&created_from=0000-01-01', [0, 1, 2, 3]],
    ['reason=IMBO', [0]],
    ['sort=created&type=ban,gag', [1, 0]],
    ['sort=ends&server_id=1', [0]],
    ['player=a%00b&page=x&server_id=1e9&status=x', []],
    ['page=9', []],
  ])('filters by %s', async (query, expected) => {
    const { numbers, text } = await listed(`?${query}`);
    expect(numbers).toEqual(expected);
    if (expected.length === 0) expect(text).toContain(en.penalties.nothingFound);
  });

  test('says why a period or a reason can match nothing', async () => {
    for (const [query, words] of [
      ['created_from=2026-11-02&created_to=2026-11-01', en.records.fromAfterTo],
      ['reason=ab', en.records.reasonTooShort],
    ] as const) {
      const { numbers, text } = await listed(`?${query}`);
      expect(numbers).toEqual([]);
      expect(text).toContain(words);
    }
  });

  test('offers a choice where several players or admins have the name', async () => {
    for (const [query, question, links] of [
      [
        'player=kowal&status=ACTIVE',
        en.penalties.severalPlayers,
        [`player=${KOWALCZYK}`, `player=${KOWALSKI}`],
      ],
      ['admin=la&status=ACTIVE', en.records.severalAdmins, [`admin=${ALA}`, `admin=${OLA}`]],
    ] as const) {
      const { text, numbers } = await listed(`?${query}`);
      expect(numbers).toEqual([]);
      expect(text).toContain(question);
      for (const link of links) expect(text).toContain(`?${link}&amp;status=ACTIVE"`);
    }
  });
});

describe('pages of moderation with a TIME_ZONE', () => {
  const timeZone = 'Europe/Warsaw';
  const inWarsaw = startSite({ settings: { timeZone } });
  const open = async (path: string) => {
    inWarsaw.clock.now = null;
    const browser = await signedIn(901, { at: inWarsaw });
    inWarsaw.clock.now = NOW;
    return (await browser.get(path)).text;
  };

  test('the list of penalties finds a day of TIME_ZONE, also one that has 23 hours', async () => {
    await insertPenalties(db, [
      { reason: 'first', createdAt: new Date('2026-03-28T23:00:00Z') },
      { reason: 'last', createdAt: new Date('2026-03-29T21:59:59Z') },
      { reason: 'after', createdAt: new Date('2026-03-29T22:00:00Z') },
    ]);
    const text = await open(`${MODERATION}/penalties?created_from=2026-03-29&created_to=2026-03-29`);
    expect(rowsOf(text)).toEqual([expect.stringContaining('last'), expect.stringContaining('first')]);
    expect(text).toContain(timeZone);
    expect(text).toContain('title="29 Mar 2026, 00:00 CET"');
    expect(text).toContain('title="29 Mar 2026, 23:59 CEST"');
  });

  test('the audit log finds a day of TIME_ZONE', async () => {
    const entry = { action: 'server.added', subject: 'mirage' };
    await db.insert(auditLog).values([
      { ...entry, at: new Date('2026-11-18T22:59:59Z') },
      { ...entry, at: new Date('2026-11-18T23:00:00Z') },
    ]);
    const text = await open(`${MODERATION}/audit?action=server.added&day=2026-11-19`);
    expect(rowsOf(text)).toEqual([expect.stringContaining('19 Nov 2026, 00:00 CET')]);
  });
});

test("a penalty's page shows who lifted it, its source and the records, and never its reason as that of the lifting", async () => {
  const { types, columns, permanent, statusOf, noServer } = en.penalties;
  const { penalty: label } = en.records;
  const { text } = await moderator.get(`${MODERATION}/penalties/${ids[2]}`);
  expect(textOf(text)).toContain(
    `${types.mute} #${ids[2]} ${statusOf('mute', 'UNBANNED')} 50 days ago ${columns.player} Kowalczyk ${columns.reason} Multikonto ` +
      `${columns.admin} Ola ${columns.issued} 22 Sept 2026, 12:00 UTC ${label.duration} ${permanent('mute')} ` +
      `${label.lifted} 2 Oct 2026, 12:00 UTC ${label.liftedBy} Ala ${label.liftReason} ${label.notRecorded} ` +
      `${columns.server} ${noServer} ${label.source} simpleadmin ${label.removed} ${label.panel}`,
  );
  expect(text).toContain(`href="https://panel.example/?id=7&amp;of=${KOWALCZYK}"`);
  const other = await moderator.get(`${MODERATION}/penalties/${ids[0]}`);
  expect(other.text).not.toContain('panel.example');
  for (const steamId of [KOWALCZYK, OLA, ALA]) {
    expect(text).toContain(`href="${MODERATION}/users/${steamId}"`);
  }
});

test("a penalty's page gives 404 for a number that no penalty has", async () => {
  for (const id of ['0', '999999', 'x', '1e3']) {
    expect([id, (await moderator.get(`${MODERATION}/penalties/${id}`)).status]).toEqual([id, 404]);
  }
});

test.each([
  ['', ['Ala 2 1 – 1 – – –']],
  ['?days=7', ['Ala 1 1 – – – – –']],
  ['?days=90', ['Ala 2 1 – 1 – – –', 'Ola 1 – 1 – – – 1 (100%)']],
  ['?days=90&sort=lifted', ['Ola 1 – 1 – – – 1 (100%)', 'Ala 2 1 – 1 – – –']],
  ['?days=x&sort=x', ['Ala 2 1 – 1 – – –']],
])('admins are listed with what they gave in a period, sorted as chosen: %s', async (query, rows) => {
  const { text } = await moderator.get(`${MODERATION}/admins${query}`);
  expect(rowsOf(text)).toEqual(rows);
  expect(text).toContain('name="sort"');
  expect([...text.matchAll(/admins\?days=(\d+)/g)].map(([, days]) => days)).toEqual(['7', '30', '90']);
  expect(text).toContain(`href="${MODERATION}/penalties?admin=${ALA}"`);
});

test('a penalty that was removed at its source is shown as removed, and its admin has lifted nothing', async () => {
  const { types, columns, permanent, statusOf, noServer, unnamedAdmin } = en.penalties;
  const { penalty: label } = en.records;
  const [row] = await insertPenalties(db, [
    {
      ...{ type: 'ban', playerSteamId: NEWCOMER, playerName: 'Nowak', serverId: 0, reason: 'Aim' },
      ...{
        adminSteamId: NEWCOMER,
        adminName: '',
        source: 'iks',
        createdAt: new Date(NOW.getTime() - 86_400_000),
      },
      goneAt: new Date(NOW.getTime() - 3_600_000),
    },
  ]);
  const { text } = await moderator.get(`${MODERATION}/penalties/${row?.id}`);
  expect(textOf(text)).toContain(
    `${types.ban} #${row?.id} ${statusOf('ban', 'REMOVED')} 1 hour ago ${columns.player} Nowak ${columns.reason} Aim ` +
      `${columns.admin} ${unnamedAdmin} ${columns.issued} 20 Nov 2026, 12:00 UTC ${label.duration} ${permanent('ban')} ` +
      `${columns.server} ${noServer} ${label.source} iks ${label.removed}`,
  );
  const admins = rowsOf((await moderator.get(`${MODERATION}/admins`)).text);
  expect(admins).toContain('Player 1005 1 1 – – – – –');
  await db.delete(penalties).where(eq(penalties.id, row?.id ?? 0));
});

const record = (steamId: string) => `${MODERATION}/users/${steamId}`;

test("a player's record shows what Steam says, and names used before", async () => {
  steamApi.bans[KOWALSKI] = {
    VACBanned: true,
    NumberOfVACBans: 1,
    DaysSinceLastBan: 30,
    CommunityBanned: true,
  };
  steamApi.players[KOWALSKI] = { timecreated: 1_100_000_000 };
  await insertPenalties(db, [
    { playerSteamId: KOWALSKI, playerName: 'Kowal dawny', createdAt: new Date('2020-01-01T00:00:00Z') },
  ]);
  const { steamBans: bans } = en.records;
  const told = textOf((await moderator.get(record(KOWALSKI))).text);
  expect(told).toContain(`${en.records.steamAccount} 9 Nov 2004, 11:33 UTC (22 years ago)`);
  expect(told).toContain(`${bans.title} ${bans.vac(1)} · ${bans.community} (${bans.last('30 days ago')})`);
  expect(told).toContain(`${en.records.formerNames} Kowal dawny`);
  const link = en.records.penaltiesBy;
  expect(told).not.toContain(link);
  expect(textOf((await moderator.get(record(ALA))).text)).toContain(link);
  steamApi.answer = 'fails';
  const unknown = textOf((await moderator.get(record(OLA))).text);
  expect(unknown).toContain(`${bans.title} ${bans.unknown}`);
  expect(unknown).not.toContain(en.records.steamAccount);
  steamApi.answer = 'players';
});

describe('staff notes', () => {
  const path = `${MODERATION}/users/${NEWCOMER}`;
  const add = async (browser: Browser, text: string, extra: Record<string, string> = {}) => {
    await browser.get(path);
    return browser.post(`${path}/notes`, { text, ...extra });
  };
  const listNotes = () => db.select().from(staffNotes).orderBy(staffNotes.id);

  test('notes are added once, deleted by their author and by admins, and audited without their text', async () => {
    const formId = '0190c2a5-7a51-7c52-a6a1-000000000001';
    await add(moderator, '  Obserwować.\r\nDrugie konto?  ', { form_id: formId });
    await add(moderator, 'Obserwować.', { form_id: formId });
    const added = await add(admin, 'Ostrzeżony ustnie');
    expect(added.location).toBe(`${path}#notes`);
    const [first, second] = await listNotes();
    expect([first?.text, second?.text]).toEqual(['Obserwować.\nDrugie konto?', 'Ostrzeżony ustnie']);
    const page = await moderator.get(path);
    expect(textOf(page.text)).toContain('Szef · 21 Nov 2026, 12:00 UTC Ostrzeżony ustnie Moderatorka ·');
    expect(page.text).toContain(`${path}/notes/${first?.id}/delete`);
    expect(page.text).not.toContain(`${path}/notes/${second?.id}/delete`);
    expect(textOf(page.text)).toContain(`${en.records.notes.deleteTitle} Obserwować. Drugie konto?`);
    expect((await moderator.post(`${path}/notes/${second?.id}/delete`)).status).toBe(403);
    expect((await moderator.post(`${path}/notes/${first?.id}/delete`)).location).toBe(`${path}#notes`);
    await admin.post(`${path}/notes/${second?.id}/delete`);
    expect(await listNotes()).toEqual([]);
    expect((await admin.post(`${path}/notes/999999/delete`)).status).toBe(404);
    const entries = (await listAuditEntries(db)).filter(({ subject }) => subject === NEWCOMER);
    expect(entries.map(({ action, actor, details }) => [action, actor, details])).toEqual([
      ['note.deleted', { steamId64: ADMIN, nickname: 'Szef' }, { noteId: second?.id }],
      ['note.deleted', { steamId64: MODERATOR, nickname: 'Moderatorka' }, { noteId: first?.id }],
      ['note.added', { steamId64: ADMIN, nickname: 'Szef' }, { noteId: second?.id }],
      ['note.added', { steamId64: MODERATOR, nickname: 'Moderatorka' }, { noteId: first?.id }],
    ]);
  });

  test('the audit log filters by author, person concerned, action and day', async () => {
    const listed = async (query: string) =>
      rowsOf((await admin.get(`${MODERATION}/audit?${query}`)).text).length;
    const entries = await listAuditEntries(db, {}, { limit: 100 });
    const ofNotes = entries.filter(({ action }) => action === 'note.added');
    const today = new Date().toISOString().slice(0, 10);
    expect(ofNotes.length).toBeGreaterThan(0);
    expect(await listed(`action=note.added&day=${today}`)).toBe(ofNotes.length);
    expect(await listed('action=note.added&day=2020-01-01')).toBe(0);
    expect(await listed('action=note.added&day=0000-01-01')).toBe(ofNotes.length);
    expect(await listed(`action=note.added&whom=${NEWCOMER}`)).toBe(ofNotes.length);
    expect(await listed(`action=note.added&who=${NEWCOMER}`)).toBe(0);
    expect(await listed('action=note.added&who=szef')).toBe(1);
    expect(await listed(`action=note.added&who=szef&whom=${NEWCOMER}`)).toBe(1);
    expect(await listed('who=nobody')).toBe(0);
  });

  test('notes have up to 2,000 characters; a refused form is shown again as it was', async () => {
    for (const text of ['  ', 'ż'.repeat(2001)]) {
      const refused = await add(moderator, text);
      expect(refused.status).toBe(400);
      expect(refused.text).toContain(en.errors['note-text'](2000));
      expect(refused.text).toContain(`>${text}</textarea>`);
    }
    expect(await listNotes()).toEqual([]);
    expect((await add(moderator, '語'.repeat(2000))).status).toBe(303);
  });
});
