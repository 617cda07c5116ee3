import { beforeEach, describe, expect, test } from 'bun:test';
import { REST } from '@discordjs/rest';
import { eq, gte, isNull, lt, or, sql } from 'drizzle-orm';
import { createMemberRoles } from '../../../bot/roles/member-roles.ts';
import { TIMINGS } from '../../../bot/timings.ts';
import { userFlags, users } from '../../../src/db/schema/accounts.ts';
import { discordMembers } from '../../../src/db/schema/discord.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { createMirrorMetrics } from '../../../src/import/rounds.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { linkDiscord, saveUser, unlinkDiscord } from '../../../src/queries/users/user-changes.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { ABOVE_BOT, BOT_ROLE } from '../../support/discord/guild.ts';
import { nextSnowflake } from '../../support/discord/snowflake.ts';
import { waitFor } from '../../support/wait.ts';

const GUILD = '900000000000000001';
/** Roles that give flags. */
const [SVIP, PLUS] = ['710000000000000001', '710000000000000002'];
/** Roles that follow facts. */
const [LINKED, VIP, BANNED] = ['710000000000000003', '710000000000000004', '710000000000000005'];

const ROLES = {
  flags: [
    { flag: 'has_svip' as const, permissions: [SVIP, 'boost'] },
    { flag: 'is_serviceplus' as const, permissions: [PLUS] },
  ],
  gives: [
    { fact: 'linked' as const, roleId: LINKED },
    { fact: 'has_svip' as const, roleId: VIP },
    { fact: 'is_banned' as const, roleId: BANNED },
  ],
};

/** Of the 2,000 members. */
const FIRST_ID = 800_000_000_000_010_000n;

/** Of the bot. */
const clock = { aheadMs: 0, now: () => new Date(Date.now() + clock.aheadMs) };
const metrics = createMetrics();
const { db, fake, bot, deps, lines, connect } = await startTestBot({
  bot: { guildId: GUILD, roles: ROLES, mirrorMetrics: createMirrorMetrics(metrics), now: clock.now },
});
const { guild } = fake;
guild.addRoles(SVIP, PLUS, LINKED, VIP, BANNED);
await connect();

let lastNumber = 0;

beforeEach(() => {
  lines.length = 0;
});

/** A member of the guild, linked to an account unless told otherwise. */
async function aMember(roleIds: string[] = [], { isLinked = true, boosts = false, isHere = true } = {}) {
  lastNumber += 1;
  const discordId = nextSnowflake();
  if (isHere) guild.setMember(discordId, roleIds, { boosts });
  const user = await insertUser(db, lastNumber, isLinked ? { discordId } : {});
  return { discordId, user, number: lastNumber };
}

async function flagsOf({ user }: { user: { id: number } }): Promise<string> {
  const [row] = await db.select().from(users).where(eq(users.id, user.id));
  return [row?.hasSvip && 'svip', row?.isServiceplus && 'plus'].filter(Boolean).join();
}

const hasRoles = (discordId: string, ...ids: string[]) =>
  waitFor(() => guild.rolesOf(discordId)?.join() === ids.toSorted().join());
const hasFlags = (member: { user: { id: number } }, flags: string) =>
  waitFor(async () => (await flagsOf(member)) === flags);
/** Lets an hour pass. */
const passHour = () => {
  clock.aheadMs += 3_600_001;
};
/** Lets an hour pass, and waits until everybody's roles have been read again. */
async function sweep(): Promise<void> {
  passHour();
  const before = or(isNull(discordMembers.readAt), lt(discordMembers.readAt, clock.now()));
  await waitFor(async () => (await db.select().from(discordMembers).where(before)).length === 0);
}
/** Waits for a round that began after this call. */
async function nextRound(): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    const before = bot.health().roles?.lastRoundAt?.getTime();
    await waitFor(() => bot.health().roles?.lastRoundAt?.getTime() !== before);
  }
}
const changesOf = (discordId: string) =>
  fake.requests
    .filter(({ method, path }) => method !== 'GET' && path.includes(`/members/${discordId}/`))
    .map(({ method, path }) => `${method} ${path.split('/').at(-1)}`);

describe('roles that give flags', () => {
  test('are read once the account is linked, and end with the link', async () => {
    const member = await aMember([SVIP], { isLinked: false });
    await linkDiscord(db, member.user, { id: member.discordId, username: 'x', avatar: null });
    await hasFlags(member, 'svip');
    expect(
      await db.select().from(userFlags).where(eq(userFlags.steamId64, member.user.steamId64)),
    ).toMatchObject([{ flag: 'has_svip', source: 'discord', endsAt: null }]);
    await unlinkDiscord(db, member.user);
    expect(await flagsOf(member)).toBe('');
  });

  test('count boosters, and move with a Discord account to the account that links it next', async () => {
    const member = await aMember([PLUS], { boosts: true });
    await hasFlags(member, 'svip,plus');
    const other = await aMember([], { isHere: false });
    await unlinkDiscord(db, member.user);
    await linkDiscord(db, other.user, { id: member.discordId, username: 'x', avatar: null });
    await hasFlags(other, 'svip,plus');
    expect(await flagsOf(member)).toBe('');
  });

  test('are read from every interaction in this guild, only of linked members', async () => {
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    const reads = () =>
      fake.requests.filter(({ method, path }) => method === 'GET' && path.endsWith(member.discordId));
    const before = reads().length;
    guild.setMember(member.discordId, [PLUS, LINKED]);
    const actor = anActor({ userId: member.discordId });
    await fake.command('server', {}, { ...actor, guildId: '900000000000000002' });
    await nextRound();
    expect(await flagsOf(member)).toBe('');
    await fake.command('server', {}, actor);
    await hasFlags(member, 'plus');
    expect(reads()).toHaveLength(before);
    const stranger = nextSnowflake();
    guild.setMember(stranger, [SVIP, LINKED]);
    await fake.command('server', {}, anActor({ userId: stranger }));
    await sweep();
    expect(guild.rolesOf(stranger)).toEqual([SVIP, LINKED]);
  });

  test('end at the next sweep for members who have left, and come back with them', async () => {
    const member = await aMember([SVIP]);
    await hasFlags(member, 'svip');
    guild.members.delete(member.discordId);
    await sweep();
    await hasFlags(member, '');
    guild.setMember(member.discordId, [PLUS]);
    await sweep();
    await hasFlags(member, 'plus');
    await hasRoles(member.discordId, PLUS, LINKED);
  });

  test('stay while Discord cannot be asked; that is said once, in health and metrics too', async () => {
    const member = await aMember([SVIP]);
    await hasFlags(member, 'svip');
    await waitFor(() => bot.health().roles?.isUp);
    fake.state.guildAccess = false;
    passHour();
    await waitFor(() => (bot.health().roles?.failures ?? 0) > 2);
    expect(await flagsOf(member)).toBe('svip');
    expect((await metrics.render()).text).toContain('mirror_up{system="discord"} 0');
    fake.state.guildAccess = true;
    await sweep();
    await waitFor(() => bot.health().roles?.isUp);
    expect((await metrics.render()).text).toContain('mirror_up{system="discord"} 1');
    expect(lines.map(({ msg }) => msg)).toEqual([
      'mirroring roles of Discord failed: retrying',
      'mirroring roles of Discord works again',
    ]);
  });
});

describe('roles that are given', () => {
  test('follow the flags and bans of a linked member, and are taken when they unlink', async () => {
    const own = nextSnowflake();
    guild.addRoles(own);
    const member = await aMember([own, BANNED]);
    await hasRoles(member.discordId, own, LINKED);
    await saveUser(db, member.user.steamId64, { changes: { hasSvip: true }, actor: 'operator' });
    const [ban] = await insertPenalties(db, [{ playerSteamId: member.user.steamId64 }]);
    await hasRoles(member.discordId, own, LINKED, VIP, BANNED);
    await db
      .update(penalties)
      .set({ status: 'UNBANNED' })
      .where(eq(penalties.id, ban?.id ?? 0));
    await hasRoles(member.discordId, own, LINKED, VIP);
    await unlinkDiscord(db, member.user);
    await hasRoles(member.discordId, own);
    await waitFor(async () => (await storedRoles(member.discordId)) === undefined);
  });

  test('are taken from people who are erased, and put right by the sweep when somebody else changed them', async () => {
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    guild.setMember(member.discordId, [BANNED]);
    await sweep();
    await hasRoles(member.discordId, LINKED);
    await erasePerson(db, member.user.steamId64, {
      withPenalties: false,
      actor: 'operator',
      removeSounds: async () => {},
    });
    await hasRoles(member.discordId);
    await waitFor(async () => (await storedRoles(member.discordId)) === undefined);
  });

  test('stay with people who were never linked', async () => {
    const stranger = nextSnowflake();
    guild.setMember(stranger, [LINKED, BANNED]);
    const member = await aMember([], { isLinked: false });
    await sweep();
    expect(guild.rolesOf(stranger)).toEqual([LINKED, BANNED].toSorted());
    expect(changesOf(member.discordId)).toEqual([]);
  });

  test('are taken after an outage in which somebody unlinked', async () => {
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    fake.fail({
      matches: /^DELETE .*\/roles\//,
      times: 6,
      response: () => new Response('', { status: 500 }),
    });
    await unlinkDiscord(db, member.user);
    await hasRoles(member.discordId);
  });

  test.each([
    ['is above the bot', 99, `role ${VIP} is not below the highest role of the bot`],
    ['does not exist', 0, `role ${VIP} does not exist`],
  ] as const)('are given but for one that %s, until that is corrected', async (_, position, reason) => {
    const role = guild.roles.get(VIP);
    if (!role) throw new Error('no role');
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    if (position > 0) guild.roles.set(VIP, { ...role, position });
    else guild.roles.delete(VIP);
    await waitFor(() => bot.health().roles?.missing?.join() === reason);
    await saveUser(db, member.user.steamId64, { changes: { hasSvip: true }, actor: 'operator' });
    await insertPenalties(db, [{ playerSteamId: member.user.steamId64 }]);
    await hasRoles(member.discordId, LINKED, BANNED);
    guild.roles.set(VIP, role);
    await hasRoles(member.discordId, LINKED, BANNED, VIP);
    await waitFor(() => bot.health().roles?.missing === undefined);
    expect(changesOf(member.discordId)).toEqual([`PUT ${LINKED}`, `PUT ${BANNED}`, `PUT ${VIP}`]);
    expect(lines.filter(({ msg }) => msg.includes('configured roles'))).toMatchObject([
      { level: 40, missing: [reason], msg: 'some of the configured roles of Discord do nothing' },
      { level: 30, msg: 'nothing is missing any more for the configured roles of Discord' },
    ]);
  });

  test('need Manage Roles; one that Discord refuses does not hold up the others', async () => {
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    guild.setMember(fake.applicationId, [ABOVE_BOT]);
    await waitFor(() => bot.health().roles?.missing?.join() === 'the bot lacks the permission Manage Roles');
    await unlinkDiscord(db, member.user);
    guild.setMember(fake.applicationId, [BOT_ROLE]);
    await hasRoles(member.discordId);
    const refused = await aMember([], { isLinked: false });
    fake.fail({
      matches: new RegExp(`^PUT .*${refused.discordId}/roles/${LINKED}`),
      response: () => Response.json({ message: 'Missing Permissions', code: 50013 }, { status: 403 }),
    });
    await saveUser(db, refused.user.steamId64, { changes: { hasSvip: true }, actor: 'operator' });
    await linkDiscord(db, refused.user, { id: refused.discordId, username: 'x', avatar: null });
    await hasRoles(refused.discordId, VIP, LINKED);
    expect(changesOf(refused.discordId)).toEqual([`PUT ${LINKED}`, `PUT ${VIP}`, `PUT ${LINKED}`]);
  });
});

async function storedRoles(discordId: string) {
  const [row] = await db.select().from(discordMembers).where(eq(discordMembers.discordId, discordId));
  return row?.roles;
}

test('all of 400 linked members are read within the limits of Discord, at the start and every hour', async () => {
  const other = await startFakeDiscord();
  other.guild.addRoles(SVIP, PLUS, LINKED, VIP, BANNED);
  await bot.stop();
  await db.delete(discordMembers);
  await db.delete(users);
  await db.delete(userFlags);
  await db.execute(sql`insert into users (steamid64, discord_id)
    select ${aSteamId(10_000)}::bigint + number, ${FIRST_ID}::bigint + number from generate_series(0, 399) as number`);
  for (let number = 0; number < 400; number += 1) {
    const roleIds = number % 4 === 1 ? [SVIP, LINKED, VIP] : [LINKED];
    if (number % 4 !== 0) other.guild.setMember(String(FIRST_ID + BigInt(number)), roleIds);
  }
  other.guild.limit.every = 20;
  let now = new Date();
  const rest = new REST({ api: other.apiUrl, version: '10', globalRequestsPerSecond: 1e6 }).setToken(
    other.token,
  );
  const roles = createMemberRoles(
    { db, rest, log: deps.log, now: () => now, mirrorMetrics: deps.mirrorMetrics, timings: TIMINGS },
    { ...ROLES, guildId: GUILD },
  );
  const stopping = new AbortController();
  const ended = roles.run(other.applicationId, stopping.signal);
  const readings = (...statuses: number[]) =>
    other.requests.filter(
      ({ path, status }) => /\/members\/80000000000001\d+$/.test(path) && statuses.includes(status),
    );
  const isUpToDate = () => roles.health().lastRoundAt?.getTime() === now.getTime();
  await waitFor(isUpToDate);
  expect(readings(200, 404)).toHaveLength(400);
  expect(await db.select().from(userFlags)).toHaveLength(100);
  await db
    .update(discordMembers)
    .set({ readAt: sql`${discordMembers.readAt} + interval '1 hour'` })
    .where(gte(discordMembers.discordId, String(FIRST_ID + 20n)));
  now = new Date(now.getTime() + 3_600_001);
  roles.wake();
  await waitFor(isUpToDate);
  expect(readings(200, 404)).toHaveLength(420);
  expect(readings(429).length).toBeGreaterThanOrEqual(20);
  expect(other.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  stopping.abort();
  await ended;
  await other.stop();
});
