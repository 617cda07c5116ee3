import type { PagesDeps } from '../../../api/web/pages-deps.ts';
import type { Db, RequestDb } from '../../../src/db/client.ts';
import { apiTokens, auditLog, staffNotes } from '../../../src/db/schema/accounts.ts';
import { appealMessages, appeals } from '../../../src/db/schema/appeals.ts';
import { pendingLifts } from '../../../src/db/schema/lifts.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { webhookDeliveries, webhooks } from '../../../src/db/schema/webhooks.ts';
import { toServerView } from '../../../src/live/server-view.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../database/builders.ts';
import { startSteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { startAccountSite } from './account.ts';
import { type Browser, openBrowser, type Page, signIn } from './browser.ts';

/** Signs in; an owner, with everything that a page can show. */
export const OWNER = aSteamId(1);
/** Has an avatar, ended tokens, and a sound that is being rendered. */
export const PLAYER = aSteamId(2);
const LONG_AGO = new Date('2026-11-01T12:00:00Z');
/** Has penalties and no account. */
const STRANGER = aSteamId(3);
const EARLIER = new Date('2026-10-01T12:00:00Z');
const LATER = new Date('2027-11-01T12:00:00Z');
const NOW = new Date('2026-11-20T12:00:00Z');

/** Writes rows for every page, with `text` wherever a user, Steam, Discord or an operator chooses the words. */
export async function seedEveryPage(db: Db, text: string): Promise<void> {
  const times = { createdAt: LONG_AGO };
  const owner = await insertUser(db, 1, {
    ...times,
    nickname: text,
    discordId: '80351110224678912',
    discordUsername: text,
    isOwner: true,
    isAdmin: true,
  });
  const player = await insertUser(db, 2, {
    ...times,
    nickname: text,
    avatarUrl: `https://avatars.steamstatic.com/${text}`,
    discordId: '80351110224678913',
    discordUsername: text,
    discordAvatar: text,
  });
  for (let number = 10; number < 40; number++) await insertUser(db, number, { ...times, nickname: text });
  const token = { ...times, name: text.slice(0, 64), lastFour: 'abcd' };
  await db.insert(apiTokens).values([
    { ...token, userId: owner.id, tokenHash: 'own', expiresAt: LATER, lastUsedAt: LONG_AGO },
    { ...token, userId: player.id, tokenHash: 'live' },
    ...Array.from({ length: 30 }, (_, index) => ({
      ...token,
      userId: player.id,
      tokenHash: `revoked ${index}`,
      revokedAt: LONG_AGO,
    })),
  ]);
  const sound = { ...times, title: text, durationMs: 9000, loudnessBeforeLufs: -31, loudnessAfterLufs: -18 };
  await db.insert(roundSounds).values([
    {
      ...sound,
      steamId64: OWNER,
      uploadKey: 'a',
      status: 'ready',
      readyAt: LONG_AGO,
      sha256: 'a',
      waveform: [1, 50, 100],
    },
    { ...sound, steamId64: OWNER, uploadKey: 'b', status: 'failed', failure: 'unreadable' },
    { ...sound, steamId64: PLAYER, uploadKey: 'c', status: 'measuring' },
  ]);
  const server = await insertServer(db, { name: text });
  const penalty = {
    ...times,
    serverId: server.id,
    playerName: text,
    adminName: text,
    reason: text,
    durationMinutes: 60,
    liftedByName: text,
    liftReason: text,
  };
  const source = { source: 'simpleadmin', sourceTable: 'sa_bans' } as const;
  const ended = { ...penalty, status: 'EXPIRED', endsAt: LONG_AGO } as const;
  for (const playerSteamId of [OWNER, PLAYER, STRANGER]) {
    await insertPenalties(db, [
      { ...penalty, ...source, playerSteamId, durationMinutes: 0, sourceId: playerSteamId },
      { ...penalty, playerSteamId, endsAt: LATER },
      ...Array.from({ length: 10 }, () => ({ ...ended, playerSteamId })),
      { ...penalty, playerSteamId, status: 'UNBANNED', liftedAt: LONG_AGO, createdAt: EARLIER },
    ]);
  }
  const appeal = { openedAt: LONG_AGO, waitingSince: LONG_AGO, wantsMessages: true };
  const decided = { ...appeal, decidedAt: LONG_AGO };
  await db.insert(appeals).values([
    { ...appeal, penaltyId: 2, playerSteamId: OWNER, waitsFor: 'player' },
    { ...appeal, penaltyId: 14, playerSteamId: PLAYER, waitsFor: 'staff' },
    { ...decided, penaltyId: 26, playerSteamId: PLAYER, state: 'accepted', waitsFor: 'lift' },
    { ...decided, penaltyId: 39, playerSteamId: STRANGER, state: 'closed', ending: 'expired' },
  ]);
  const message = { text: `${text}\n${text}`, createdAt: LONG_AGO };
  await db.insert(appealMessages).values([
    { ...message, appealId: 1, kind: 'opened' },
    { ...message, appealId: 1, kind: 'asked', authorUserId: player.id },
    { ...message, appealId: 2, kind: 'opened' },
    { ...message, appealId: 2, kind: 'asked', authorUserId: owner.id },
    { ...message, appealId: 2, kind: 'answered' },
    { ...message, appealId: 3, kind: 'opened' },
    { ...message, appealId: 3, kind: 'accepted' },
    { ...message, appealId: 4, kind: 'opened' },
  ]);
  await db.insert(pendingLifts).values({ penaltyId: 27, reason: text, begunAt: LONG_AGO });
  await db.insert(staffNotes).values([
    { ...message, steamId64: PLAYER, penaltyId: 14, authorUserId: owner.id },
    { steamId64: PLAYER, text, createdAt: EARLIER },
  ]);
  await insertPenalties(db, [
    { ...penalty, playerSteamId: PLAYER, playerName: `${text}!`, createdAt: EARLIER },
  ]);
  const webhook = { ...times, url: `https://hooks.example.org/${text}`, secret: 'whsec_', deliveredUpTo: 0 };
  await db.insert(webhooks).values([
    { ...webhook, switchedOffAt: LONG_AGO, switchedOffReason: 'gone' },
    { ...webhook, types: ['penalty.created'], failures: 2, retryAt: LATER },
  ]);
  const delivery = { webhookId: 1, messageId: text, type: 'penalty.created', at: LONG_AGO, durationMs: 7 };
  await db.insert(webhookDeliveries).values([
    { ...delivery, status: 204 },
    { ...delivery, status: 410 },
    { ...delivery, failure: 'address-refused' },
  ]);
  await db.insert(auditLog).values([
    { at: LONG_AGO, action: text, subject: text, details: { name: text, title: text, [text]: text } },
    { at: LONG_AGO, action: 'server.added', subject: text, details: { address: text, name: text } },
    {
      at: LONG_AGO,
      action: 'user.changed',
      actorUserId: player.id,
      subject: OWNER,
      details: { nickname: text, discordUsername: text, discordAvatar: text, isAdmin: true },
    },
  ]);
}

type Visit = [name: string, path: string, form?: Record<string, string>];

/** Every page there is, and every form whose response is a page, with `text` wherever the visitor chooses the words. */
function listPages(text: string): { visitor: Visit[]; owner: Visit[] } {
  const typed = encodeURIComponent(text);
  const tooLong = text + '0'.repeat(2001);
  const hook = `https://hooks.example.org/${typed}`;
  return {
    visitor: [
      ['sign-in', '/account'],
      ['sign-in with a destination', `/account?next=${typed}&lang=${typed}`],
      ['sign-in with a query', `/account?return_to=${typed}&${typed}=${typed}`],
      ['sign-in refused', `/account/sign-in/return?state=${typed}&openid.mode=${typed}`],
      ['servers', '/'],
      ['a server', '/servers/one'],
      ['connect', '/connect/one'],
      ['missing server', `/servers/${typed}`],
      ['public penalties', '/penalties'],
      ['public penalties of a player', `/penalties?q=${STRANGER}&type=ban`],
      ['missing', `/account/${typed}`],
      ['signed out', '/account/delete', { csrf_token: text }],
    ],
    owner: [
      ['servers of a member', '/?x=1'],
      ['account', '/account'],
      ['account with a query', `/account?next=${typed}&${typed}=${typed}`],
      ['own ended penalties', '/account?record=2'],
      ['users', '/account/moderation'],
      ['users found', `/account/moderation?q=${encodeURIComponent(text.slice(0, 20))}`],
      ['nobody found', `/account/moderation?q=${typed}${typed}!`],
      ['second page of users', '/account/moderation?page=2'],
      ['players found', `/account/moderation?q=${STRANGER}`],
      ['player without an account', `/account/moderation/users/${STRANGER}`],
      ['owner', `/account/moderation/users/${OWNER}`],
      ['player', `/account/moderation/users/${PLAYER}`],
      ['ended penalties', `/account/moderation/users/${PLAYER}?record=2`],
      ['ended tokens', `/account/moderation/users/${PLAYER}?before=20`],
      ['penalties', '/account/moderation/penalties'],
      ['penalties filtered', `/account/moderation/penalties?player=${PLAYER}&type=ban&page=9`],
      ['several players', `/account/moderation/penalties?player=${encodeURIComponent(text.slice(0, 20))}`],
      ['an active penalty', '/account/moderation/penalties/1'],
      ['a lifted penalty', '/account/moderation/penalties/13'],
      ['a penalty with a note', '/account/moderation/penalties/14'],
      ['a penalty being lifted', '/account/moderation/penalties/27'],
      ['lift refused', '/account/moderation/penalties/14/lift', { reason: tooLong }],
      ['appeals', '/account/moderation/appeals'],
      ['no appeals', '/account/moderation/appeals?tab=player&type=warn'],
      ['decided appeals', `/account/moderation/appeals?tab=decided&player=${STRANGER}`],
      ['an undecided appeal', '/account/moderation/appeals/2'],
      ['an accepted appeal', '/account/moderation/appeals/3'],
      ['a closed appeal', '/account/moderation/appeals/4'],
      ['decision refused', '/account/moderation/appeals/2', { action: 'denied', text: tooLong }],
      ['own appeal', '/account/appeals/1'],
      ['own answer refused', '/account/appeals/1', { text: tooLong }],
      ['new appeal', '/account/penalties/1/appeal'],
      ['new appeal refused', '/account/penalties/1/appeal', { text: tooLong }],
      ["moderators' guide", '/account/moderation/guide'],
      ['admins', '/account/moderation/admins'],
      ['note refused', `/account/moderation/users/${STRANGER}/notes`, { text: tooLong }],
      ['audit log', '/account/moderation/audit'],
      ['sounds', '/account/moderation/sounds'],
      ['webhooks', '/account/moderation/webhooks'],
      ['webhook', '/account/moderation/webhooks/1'],
      ['failing webhook', '/account/moderation/webhooks/2'],
      ['no such user', `/account/moderation/users/${typed}`],
      ['new webhook', '/account/moderation/webhooks', { url: hook, 'penalty.created': 'on' }],
      ['webhook refused', '/account/moderation/webhooks', { url: text, [text]: 'on' }],
      ['new token', '/account/tokens', { name: text.slice(0, 64), expires: '30' }],
      ['token refused', '/account/tokens', { name: '', expires: text }],
      ['block refused', `/account/moderation/users/${PLAYER}/block`, { reason: tooLong }],
      ['the address of a form', '/account/tokens'],
      ['form refused', '/account/tokens', { csrf_token: text }],
    ],
  };
}

/** Opens every page as a visitor and as {@link OWNER}. Needs the rows of {@link seedEveryPage}. */
export async function openEveryPage(
  db: RequestDb,
  text: string,
  { language = 'en' } = {},
): Promise<{ name: string; page: Page }[]> {
  const steam = startSteamOpenIdProvider({ steamId: OWNER });
  const site = startAccountSite({
    db,
    steam,
    settings: { arePenaltiesPublic: true, appeals: { againDays: 30 } },
    panels: [{ source: 'simpleadmin', table: 'sa_bans', address: 'https://panel.example.org/{id}' }],
    lifts: {
      audience: 'admins',
      findSystem: ({ source }) => (source === null ? undefined : text),
      lift: async () => 'unconfirmed',
      check: async () => {},
      listProblems: () =>
        (['rights', 'other-database'] as const).map((kind) => ({
          system: text,
          problem: { kind, table: text, reason: text },
        })),
    },
    status: aStatusOf(text),
  });
  const [visitor, owner] = [openBrowser(site.origin, { language }), openBrowser(site.origin, { language })];
  await signIn(owner);
  site.clock.now = NOW;
  const pages = listPages(text);
  const opened: { name: string; page: Page }[] = [];
  const open = async (browser: Browser, [name, path, form]: Visit) =>
    opened.push({ name, page: await (form ? browser.post(path, form) : browser.get(path)) });
  for (const visit of pages.visitor) await open(visitor, visit);
  for (const visit of pages.owner) await open(owner, visit);
  return opened;
}

/** One server, on which everything is called `text`. */
function aStatusOf(text: string): PagesDeps['status'] {
  const server = {
    id: 1,
    slug: 'one',
    name: text,
    address: '127.0.0.1:27015',
    publicAddress: null,
    mode: text,
    region: text,
    isHidden: false,
    position: 0,
    createdAt: LONG_AGO,
  };
  const snapshot = {
    serverId: 1,
    isOnline: true,
    hostname: `${text}!`,
    map: text,
    playersCount: 3,
    maxPlayers: 10,
    pingMs: 5,
    players: [{ name: text, score: 1 }],
    missedPolls: 0,
    polledAt: LONG_AGO,
    seenAt: LONG_AGO,
    fullSince: null,
  };
  const point = { polledSeconds: 300, playersAverage: 1, playersMaximum: 2, maxPlayers: 10, onlineShare: 1 };
  const points = [0, 300_000].map((ms) => ({ ...point, at: new Date(NOW.getTime() - 600_000 + ms) }));
  return {
    serverList: {
      listViews: () => [toServerView({ server, snapshot }, LONG_AGO)],
      toView: (status) => toServerView(status, LONG_AGO),
      findBySlug: (slug) => (slug === 'one' ? { server, snapshot } : undefined),
    },
    readHistory: async () => ({ points, stepSeconds: 300, readAt: NOW }),
    readMaps: async () => ({ maps: [{ map: text, seconds: 60, times: 1 }], others: 1 }),
    findBanner: async () => undefined,
  };
}
