import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { users } from '../../../src/db/schema/accounts.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { LINKED, PLUS, SVIP, startRolesBot, VIP } from '../../support/bot/roles.ts';
import { refuse, slowDown } from '../../support/discord/faults.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startRolesBot();
const { db, fake, guild, clock, lines, metrics, health } = harness;
const { aMember, flagsOf, hasFlags, hasRoles, storedRow, sweep, passHour, sweepEnds, changesOf, readsOf } =
  harness;

/** Requests about members, but for the bot itself. */
const OF_MEMBERS = new RegExp(`^(GET|PUT|DELETE) /guilds/\\d+/members/(?!${fake.applicationId})`);
const requestsOf = (method: string, discordId: string) =>
  new RegExp(`^${method} /guilds/\\d+/members/${discordId}`);
const html = (status: number) => () =>
  new Response('<html>proxy</html>', { status, headers: { 'content-type': 'text/html' } });
const json = (status: number, body: unknown) => () => Response.json(body, { status });
const noContent = () => new Response(null, { status: 204 });

beforeEach(() => {
  lines.length = 0;
});
afterEach(async () => {
  fake.clearFaults();
  await db.delete(users);
});

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
    fake.fail({ matches: requestsOf('GET', member.discordId), response, times: 1000 });
    await sweep();
    await waitFor(async () => (await storedRow(member.discordId))?.failures);
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
    fake.fail({ matches: requestsOf('GET', member.discordId), response, times: 1000 });
    await sweep();
    await hasFlags(member, '');
  });

  test('delays nobody else when Discord never answers for them', async () => {
    const broken = await aMember([SVIP]);
    fake.fail({ matches: requestsOf('GET', broken.discordId), response: refuse(500), times: 1000 });
    await waitFor(async () => (await storedRow(broken.discordId))?.failures);
    const others = [await aMember([SVIP]), await aMember([PLUS])] as const;
    await hasFlags(others[0], 'svip');
    await hasFlags(others[1], 'plus');
    expect(health()?.isUp).toBe(true);
    await waitFor(() => Bun.deepEquals(health()?.problems, { 'reading a member: 500': 1 }));
    expect(lines.filter(({ msg }) => msg.includes("members' Discord roles failed"))).toMatchObject([
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
  fake.fail({ matches: requestsOf('GET', broken.discordId), response: refuse(500), times: 1000 });
  for (const failures of [1, 2, 3, 4]) {
    await waitFor(async () => (await storedRow(broken.discordId))?.failures === failures);
    clock.aheadMs += 10_000 * 2 ** (failures - 1) + 1;
  }
  expect(lines.filter(({ msg }) => msg === 'mirroring Discord roles failed: retrying')).toEqual([]);
});

describe('a member who is given a role', () => {
  test.each([
    ['403', refuse(403, 50013), '403 (50013)'],
    ['400', refuse(400, 50035), '400 (50035)'],
    ['200 {}', json(200, {}), 'no usable response'],
    ['500', refuse(500), '500'],
  ] as const)(
    'gets it later when Discord sends %s, and others get theirs at once',
    async (_, response, why) => {
      const refused = await aMember([], { isLinked: false });
      fake.fail({ matches: requestsOf('PUT', refused.discordId), response, times: 1000 });
      await db.update(users).set({ discordId: refused.discordId }).where(eq(users.id, refused.user.id));
      const problem = `giving the role ${LINKED}: ${why}`;
      await waitFor(() => health()?.problems?.[problem] === 1);
      const other = await aMember();
      await hasRoles(other.discordId, LINKED);
      expect(guild.rolesOf(refused.discordId)).toEqual([]);
      expect(lines.filter(({ msg }) => msg.includes("members' Discord roles failed"))).toMatchObject([
        { problems: { [problem]: 1 } },
      ]);
      fake.clearFaults();
      clock.aheadMs += 3_600_001;
      await hasRoles(refused.discordId, LINKED);
      await waitFor(() => health()?.problems === undefined);
    },
  );
});

describe('Discord', () => {
  test.each([
    ['401', refuse(401)],
    ['403', refuse(403, 50013)],
    ['an unknown guild', refuse(404, 10004)],
    ['a long limit', slowDown(60)],
  ])('counts for no member when it sends %s', async (_, response) => {
    const members = [await aMember([SVIP]), await aMember([SVIP])];
    for (const member of members) await hasFlags(member, 'svip');
    await passHour({ before: () => fake.fail({ matches: OF_MEMBERS, response, times: 1 }) });
    await waitFor(() => lines.some(({ msg }) => msg === 'mirroring Discord roles failed: retrying'));
    for (const { discordId } of members) {
      expect(await storedRow(discordId)).toMatchObject({ failures: 0, problem: null });
    }
    clock.aheadMs += 61_000;
    await sweepEnds();
    await waitFor(() => health()?.isUp);
    for (const member of members) expect(await flagsOf(member)).toBe('svip');
  });

  test('counts for no member when it fails for three in a row', async () => {
    const members = [];
    for (let number = 0; number < 5; number += 1) members.push(await aMember([SVIP]));
    for (const member of members) await hasFlags(member, 'svip');
    await passHour({ before: () => fake.fail({ matches: OF_MEMBERS, response: refuse(500), times: 9 }) });
    await waitFor(() => health()?.isUp === false);
    for (const { discordId } of members) {
      expect(await storedRow(discordId)).toMatchObject({ failures: 0, problem: null });
    }
    clock.aheadMs += 60_000;
    await sweepEnds();
    for (const member of members) expect(await flagsOf(member)).toBe('svip');
  });

  test('takes nothing by its roles or its bot in another form', async () => {
    const member = await aMember([SVIP]);
    await hasRoles(member.discordId, SVIP, LINKED, VIP);
    for (const matches of [/^GET \/guilds\/\d+\/roles$/, requestsOf('GET', fake.applicationId)]) {
      lines.length = 0;
      fake.fail({ matches, response: json(200, {}), times: 3 });
      await waitFor(() => lines.some(({ msg }) => msg === 'mirroring Discord roles failed: retrying'));
      clock.aheadMs += 60_000;
      await waitFor(() => health()?.isUp);
    }
    expect(guild.rolesOf(member.discordId)).toEqual([SVIP, LINKED, VIP].toSorted());
    expect(health()?.missing).toBeUndefined();
  });
});

test('nobody loses a flag or role by two hundred odd answers, and all is right after them', async () => {
  const answers = [
    json(200, {}),
    noContent,
    refuse(400, 50035),
    refuse(403, 50013),
    slowDown(0.01),
    refuse(500),
  ];
  const staying = [];
  for (let number = 0; number < 6; number += 1) staying.push(await aMember([SVIP]));
  for (const { discordId } of staying) await hasRoles(discordId, SVIP, LINKED, VIP);
  let sent = 0;
  const nextAnswer = () => {
    sent += 1;
    return (answers[sent % answers.length] ?? noContent)();
  };
  fake.fail({ matches: OF_MEMBERS, response: nextAnswer, times: 200 });
  const joining = await aMember([PLUS]);
  const promoted = await aMember();
  await saveUser(db, promoted.user.steamId64, { changes: { hasSvip: true }, actor: 'operator' });
  while (sent < 200) {
    const before = sent;
    await waitFor(() => {
      clock.aheadMs += 60_000;
      return sent > before || sent >= 200;
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
