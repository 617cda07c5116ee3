import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { userFlags, users } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { linkDiscord, saveUser, unlinkDiscord } from '../../../src/queries/users/user-changes.ts';
import { BANNED, LINKED, PLUS, SVIP, startRolesBot, VIP } from '../../support/bot/roles.ts';
import { erase } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { type Fault, refuse, slowDown } from '../../support/discord/faults.ts';
import { ABOVE_BOT, BOT_ROLE } from '../../support/discord/guild.ts';
import { nextSnowflake } from '../../support/discord/snowflake.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startRolesBot();
const { db, fake, guild, clock, metrics, lines, linesAbout, health, wakeRoles } = harness;
const { aMember, aBan, flagsOf, hasFlags, hasRoles, storedRow } = harness;
const { sweep, passHour, sweepEnds, nextRound, changesOf, readsOf } = harness;

const FAILED = 'mirroring Discord roles failed: retrying';
/** Requests about members, but for the bot itself. */
const OF_MEMBERS = new RegExp(`^(GET|PUT|DELETE) /guilds/\\d+/members/(?!${fake.applicationId})`);

beforeEach(() => {
  lines.length = 0;
});
afterEach(async () => {
  fake.clearFaults();
  await db.delete(users);
});

type Member = Awaited<ReturnType<typeof aMember>>;

const link = ({ user }: Pick<Member, 'user'>, { discordId }: Pick<Member, 'discordId'>) =>
  linkDiscord(db, user, { id: discordId, username: 'x', avatar: null });
const giveSvip = ({ user }: Member) =>
  saveUser(db, user.steamId64, { changes: { hasSvip: true }, actor: 'operator' });
/** Makes requests about one member fail. */
const failFor = (method: string, { discordId }: Member, response: Fault['response'], times = 1000) =>
  fake.fail({ matches: new RegExp(`^${method} /guilds/\\d+/members/${discordId}`), response, times });
/** Waits until requests about a member have failed this often in a row; by default at all. */
const hasFailed = ({ discordId }: Member, failures?: number) =>
  waitFor(async () => {
    const row = await storedRow(discordId);
    return failures === undefined ? row?.failures : row?.failures === failures;
  });
const isForgotten = ({ discordId }: Member) =>
  waitFor(async () => (await storedRow(discordId)) === undefined);

describe('roles that give flags', () => {
  test('roles that give flags are read once the account is linked, and the flags end with the link', async () => {
    const member = await aMember([SVIP], { isLinked: false });
    await link(member, member);
    await hasFlags(member, 'svip');
    expect(
      await db.select().from(userFlags).where(eq(userFlags.steamId64, member.user.steamId64)),
    ).toMatchObject([{ flag: 'has_svip', source: 'discord', endsAt: null }]);
    await unlinkDiscord(db, member.user);
    expect(await flagsOf(member)).toBe('');
  });

  test('roles that give flags count boosters, and move with a Discord account to the account that links it next', async () => {
    const member = await aMember([PLUS], { boosts: true });
    await hasFlags(member, 'svip,plus');
    const other = await aMember([], { isHere: false });
    await unlinkDiscord(db, member.user);
    await link(other, member);
    await hasFlags(other, 'svip,plus');
    expect(await flagsOf(member)).toBe('');
  });

  test('roles that give flags are read from every interaction in this guild, only of linked members', async () => {
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    const before = readsOf(member.discordId).length;
    guild.setMember(member.discordId, [PLUS, LINKED]);
    const actor = anActor({ userId: member.discordId });
    await fake.command('server', {}, { ...actor, guildId: '900000000000000002' });
    await nextRound();
    expect(await flagsOf(member)).toBe('');
    await fake.command('server', {}, actor);
    await hasFlags(member, 'plus');
    expect(readsOf(member.discordId)).toHaveLength(before);
    const stranger = nextSnowflake();
    guild.setMember(stranger, [SVIP, LINKED]);
    await fake.command('server', {}, anActor({ userId: stranger }));
    await sweep();
    expect(guild.rolesOf(stranger)).toEqual([SVIP, LINKED]);
  });

  test('flags by roles end at the next sweep for members who have left, and come back with them', async () => {
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

  test('flags by roles stay while Discord cannot be asked; that is logged once, and in health and metrics', async () => {
    const member = await aMember([SVIP]);
    await hasFlags(member, 'svip');
    await waitFor(() => health()?.isUp);
    await passHour({
      before: () => {
        fake.state.guildAccess = false;
      },
    });
    await waitFor(() => (health()?.failures ?? 0) > 2);
    expect(await flagsOf(member)).toBe('svip');
    expect((await metrics.render()).text).toContain('mirror_up{system="discord"} 0');
    fake.state.guildAccess = true;
    await sweep();
    await waitFor(() => health()?.isUp);
    expect((await metrics.render()).text).toContain('mirror_up{system="discord"} 1');
    expect(lines.map(({ msg }) => msg)).toEqual([FAILED, 'mirroring Discord roles works again']);
  });
});

describe('roles that are given', () => {
  test('given roles follow the flags and bans of a linked member, and are taken when they unlink', async () => {
    const own = nextSnowflake();
    guild.addRoles(own);
    const member = await aMember([own, BANNED]);
    await hasRoles(member.discordId, own, LINKED);
    await giveSvip(member);
    const ban = await aBan(member);
    await hasRoles(member.discordId, own, LINKED, VIP, BANNED);
    await db.update(penalties).set({ status: 'UNBANNED' }).where(eq(penalties.id, ban));
    wakeRoles([member.user.steamId64]);
    await hasRoles(member.discordId, own, LINKED, VIP);
    await unlinkDiscord(db, member.user);
    await hasRoles(member.discordId, own);
    await isForgotten(member);
  });

  test.each([
    ['left and came back', true],
    ['was banned while away and came back', false],
  ])('a banned member who %s has the role at the next sweep', async (_, isBannedBefore) => {
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    if (isBannedBefore) await aBan(member);
    if (isBannedBefore) await hasRoles(member.discordId, LINKED, BANNED);
    guild.members.delete(member.discordId);
    if (!isBannedBefore) await aBan(member);
    await sweep();
    guild.setMember(member.discordId, []);
    await sweep();
    await hasRoles(member.discordId, LINKED, BANNED);
  });

  test('given roles are taken from people who are erased, and corrected by the sweep when somebody else changed them', async () => {
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    guild.setMember(member.discordId, [BANNED]);
    await sweep();
    await hasRoles(member.discordId, LINKED);
    await erase(db, member.user.steamId64);
    await hasRoles(member.discordId);
    await isForgotten(member);
  });

  test('given roles follow a change that comes while others are being given', async () => {
    const member = await aMember();
    failFor('PUT', member, 'lost', 1);
    await hasRoles(member.discordId, LINKED);
    await giveSvip(member);
    fake.clearFaults();
    await hasRoles(member.discordId, LINKED, VIP);
  });

  test('the role of a ban moves when the source corrects whom it is against', async () => {
    const [wrong, right] = [await aMember(), await aMember()];
    const ban = await aBan(wrong);
    await hasRoles(wrong.discordId, LINKED, BANNED);
    await db.update(penalties).set({ playerSteamId: right.user.steamId64 }).where(eq(penalties.id, ban));
    wakeRoles([right.user.steamId64]);
    await hasRoles(right.discordId, LINKED, BANNED);
    await hasRoles(wrong.discordId, LINKED);
  });

  test('people who were never linked keep their roles', async () => {
    const stranger = nextSnowflake();
    guild.setMember(stranger, [LINKED, BANNED]);
    const member = await aMember([], { isLinked: false });
    await sweep();
    expect(guild.rolesOf(stranger)).toEqual([LINKED, BANNED].toSorted());
    expect(changesOf(member.discordId)).toEqual([]);
  });

  test('given roles are taken after an outage in which somebody unlinked', async () => {
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    failFor('DELETE', member, refuse(500), 6);
    await unlinkDiscord(db, member.user);
    for (const failures of [1, 2]) {
      await hasFailed(member, failures);
      clock.aheadMs += 20_000;
    }
    await hasRoles(member.discordId);
  });

  test.each([
    ['is above the bot', 99, `role ${VIP} is not below the highest role of the bot`],
    ['does not exist', 0, `role ${VIP} does not exist`],
  ] as const)('all roles are given but one that %s, until that is corrected', async (_, position, reason) => {
    const role = guild.roles.get(VIP);
    if (!role) throw new Error('no role');
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    if (position > 0) guild.roles.set(VIP, { ...role, position });
    else guild.roles.delete(VIP);
    await waitFor(() => health()?.missing?.join() === reason);
    await giveSvip(member);
    await aBan(member);
    await hasRoles(member.discordId, LINKED, BANNED);
    guild.roles.set(VIP, role);
    await hasRoles(member.discordId, LINKED, BANNED, VIP);
    await waitFor(() => health()?.missing === undefined);
    expect(changesOf(member.discordId)).toEqual([`PUT ${LINKED}`, `PUT ${BANNED}`, `PUT ${VIP}`]);
    expect(linesAbout('configured Discord roles')).toMatchObject([
      { level: 40, missing: [reason], msg: 'some configured Discord roles do not work' },
      { level: 30, msg: 'all configured Discord roles work now' },
    ]);
  });

  test('giving roles needs Manage Roles; one that Discord refuses does not hold up the others', async () => {
    const member = await aMember();
    await hasRoles(member.discordId, LINKED);
    guild.setMember(fake.applicationId, [ABOVE_BOT]);
    await waitFor(() => health()?.missing?.join() === 'the bot lacks the permission Manage Roles');
    await unlinkDiscord(db, member.user);
    guild.setMember(fake.applicationId, [BOT_ROLE]);
    await hasRoles(member.discordId);
    const refused = await aMember([], { isLinked: false });
    fake.fail({
      matches: new RegExp(`^PUT .*${refused.discordId}/roles/${LINKED}`),
      response: refuse(403, 50013),
    });
    await giveSvip(refused);
    await link(refused, refused);
    await hasRoles(refused.discordId, VIP);
    await waitFor(() => health()?.problems);
    clock.aheadMs += 10_000;
    await hasRoles(refused.discordId, VIP, LINKED);
    expect(changesOf(refused.discordId)).toEqual([`PUT ${LINKED}`, `PUT ${VIP}`, `PUT ${LINKED}`]);
  });
});

const html = (status: number) => () =>
  new Response('<html>proxy</html>', { status, headers: { 'content-type': 'text/html' } });
const json = (status: number, body: unknown) => () => Response.json(body, { status });
const noContent = () => new Response(null, { status: 204 });

/** Members whose roles have given them a flag. */
async function someMembers(amount: number): Promise<Member[]> {
  const members: Member[] = [];
  for (let number = 0; number < amount; number += 1) members.push(await aMember([SVIP]));
  for (const member of members) await hasFlags(member, 'svip');
  return members;
}

describe('a member whose roles are read', () => {
  test.each([
    ['200 {}', json(200, {})],
    ['200 with HTML', html(200)],
    ['200 with null', json(200, null)],
    ['200 with roles that are none', json(200, { user: { id: '1' }, roles: [1] })],
    ['204', noContent],
    ['400', refuse(400)],
    ['400 about another field', json(400, { code: 50035, message: 'Invalid', errors: { guild_id: {} } })],
    ['400 with null', json(400, null)],
    ['404 of a proxy', html(404)],
    ['500', refuse(500)],
  ])('keeps their flags when Discord sends %s', async (_, response) => {
    const member = await aMember([SVIP]);
    await hasFlags(member, 'svip');
    failFor('GET', member, response);
    await sweep();
    await hasFailed(member);
    expect(await flagsOf(member)).toBe('svip');
    fake.clearFaults();
    guild.setMember(member.discordId, []);
    await sweep();
    await hasFlags(member, '');
  });

  test.each([
    ['an unknown member', refuse(404, 10007)],
    ['an unknown user', refuse(404, 10013)],
    ['an id that is none', json(400, { code: 50035, message: 'Invalid', errors: { user_id: {} } })],
  ])('loses their flags when Discord names %s', async (_, response) => {
    const member = await aMember([SVIP]);
    await hasFlags(member, 'svip');
    failFor('GET', member, response);
    await sweep();
    await hasFlags(member, '');
  });

  test('delays nobody else when Discord never answers for them', async () => {
    const broken = await aMember([SVIP]);
    failFor('GET', broken, refuse(500));
    await hasFailed(broken);
    const others = [await aMember([SVIP]), await aMember([PLUS])] as const;
    await hasFlags(others[0], 'svip');
    await hasFlags(others[1], 'plus');
    expect(health()?.isUp).toBe(true);
    await waitFor(() => Bun.deepEquals(health()?.problems, { 'reading a member: 500': 1 }));
    expect(linesAbout("members' Discord roles failed")).toMatchObject([
      { problems: { 'reading a member: 500': 1 } },
    ]);
    fake.clearFaults();
    clock.aheadMs += 3_600_001;
    await hasFlags(broken, 'svip');
    await waitFor(() => health()?.problems === undefined);
  });
});

test('a member for whom Discord keeps failing postpones only themselves, also when nobody else is due', async () => {
  const broken = await aMember([SVIP]);
  failFor('GET', broken, refuse(500));
  for (const failures of [1, 2, 3, 4]) {
    await hasFailed(broken, failures);
    clock.aheadMs += 10_000 * 2 ** (failures - 1) + 1;
  }
  expect(linesAbout(FAILED)).toEqual([]);
});

test.each([
  ['403', refuse(403, 50013), '403 (50013)'],
  ['400', refuse(400, 50035), '400 (50035)'],
  ['200 {}', json(200, {}), 'no usable response'],
  ['500', refuse(500), '500'],
] as const)(
  'a member gets a role later when Discord sends %s, and others get theirs at once',
  async (_, response, why) => {
    const refused = await aMember([], { isLinked: false });
    failFor('PUT', refused, response);
    await db.update(users).set({ discordId: refused.discordId }).where(eq(users.id, refused.user.id));
    const problem = `giving the role ${LINKED}: ${why}`;
    await waitFor(() => health()?.problems?.[problem] === 1);
    const other = await aMember();
    await hasRoles(other.discordId, LINKED);
    expect(guild.rolesOf(refused.discordId)).toEqual([]);
    expect(linesAbout("members' Discord roles failed")).toMatchObject([{ problems: { [problem]: 1 } }]);
    fake.clearFaults();
    clock.aheadMs += 3_600_001;
    await hasRoles(refused.discordId, LINKED);
    await waitFor(() => health()?.problems === undefined);
  },
);

describe('Discord', () => {
  test.each([
    ['401', refuse(401), 1],
    ['403', refuse(403, 50013), 1],
    ['an unknown guild', refuse(404, 10004), 1],
    ['a long limit', slowDown(60), 1],
  ])('counts for no member when it sends %s', async (_, response, times) => {
    const members = await someMembers(5);
    await passHour({ before: () => fake.fail({ matches: OF_MEMBERS, response, times }) });
    await waitFor(() => linesAbout(FAILED).length > 0);
    for (const { discordId } of members)
      expect(await storedRow(discordId)).toMatchObject({ failures: 0, problem: null });
    clock.aheadMs += 61_000;
    await sweepEnds();
    await waitFor(() => health()?.isUp);
    for (const member of members) expect(await flagsOf(member)).toBe('svip');
  });

  test('pauses all members when it sends 500 for three in a row, and the first two are retried after ten seconds', async () => {
    const members = await someMembers(5);
    await passHour({ before: () => fake.fail({ matches: OF_MEMBERS, response: refuse(500), times: 9 }) });
    await waitFor(() => linesAbout(FAILED).length > 0);
    const rows = await Promise.all(members.map(({ discordId }) => storedRow(discordId)));
    expect(rows.filter((row) => row?.failures === 1)).toHaveLength(2);
    clock.aheadMs += 11_000;
    await sweepEnds();
    await waitFor(() => health()?.isUp);
    for (const member of members) expect(await flagsOf(member)).toBe('svip');
  });

  test('takes nothing by its roles or its bot in another form', async () => {
    const member = await aMember([SVIP]);
    await hasRoles(member.discordId, SVIP, LINKED, VIP);
    for (const matches of [
      /^GET \/guilds\/\d+\/roles$/,
      new RegExp(`^GET .*/members/${fake.applicationId}`),
    ]) {
      lines.length = 0;
      fake.fail({ matches, response: json(200, {}), times: 3 });
      await waitFor(() => linesAbout(FAILED).length > 0);
      clock.aheadMs += 60_000;
      await waitFor(() => health()?.isUp);
    }
    expect(guild.rolesOf(member.discordId)).toEqual([SVIP, LINKED, VIP].toSorted());
    expect(health()?.missing).toBeUndefined();
  });
});

test('nobody loses a flag or role by sixty odd answers, and all is right after them', async () => {
  const answers = [
    json(200, {}),
    noContent,
    refuse(400, 50035),
    refuse(403, 50013),
    slowDown(0.01),
    refuse(500),
  ];
  const staying = await someMembers(6);
  for (const { discordId } of staying) await hasRoles(discordId, SVIP, LINKED, VIP);
  let sent = 0;
  const nextAnswer = () => {
    sent += 1;
    return (answers[sent % answers.length] ?? noContent)();
  };
  fake.fail({ matches: OF_MEMBERS, response: nextAnswer, times: 60 });
  const joining = await aMember([PLUS]);
  const promoted = await aMember();
  await giveSvip(promoted);
  while (sent < 60) {
    const before = sent;
    await waitFor(() => {
      clock.aheadMs += 60_000;
      return sent > before || sent >= 60;
    });
    for (const member of staying) {
      expect(await flagsOf(member)).toBe('svip');
      expect(guild.rolesOf(member.discordId)).toEqual([SVIP, LINKED, VIP].toSorted());
    }
  }
  clock.aheadMs += 3_600_001;
  await hasFlags(joining, 'plus');
  await hasRoles(joining.discordId, PLUS, LINKED);
  await hasRoles(promoted.discordId, LINKED, VIP);
  await sweep();
  await waitFor(() => health()?.problems === undefined);
  for (const { discordId } of staying) expect(changesOf(discordId)).toEqual([`PUT ${LINKED}`, `PUT ${VIP}`]);
  expect((await metrics.render()).text).toContain('mirror_up{system="discord"} 1');
  expect(readsOf(joining.discordId).length).toBeGreaterThan(0);
});
