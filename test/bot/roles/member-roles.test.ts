import { beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { userFlags } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { linkDiscord, saveUser, unlinkDiscord } from '../../../src/queries/users/user-changes.ts';
import { BANNED, LINKED, PLUS, SVIP, startRolesBot, VIP } from '../../support/bot/roles.ts';
import { anActor } from '../../support/discord/actor.ts';
import { ABOVE_BOT, BOT_ROLE } from '../../support/discord/guild.ts';
import { nextSnowflake } from '../../support/discord/snowflake.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startRolesBot();
const { db, fake, guild, clock, metrics, lines, health, wakeRoles } = harness;
const {
  aMember,
  aBan,
  flagsOf,
  hasFlags,
  hasRoles,
  storedRow,
  sweep,
  passHour,
  nextRound,
  changesOf,
  readsOf,
} = harness;

beforeEach(() => {
  lines.length = 0;
});

describe('roles that give flags', () => {
  test('roles that give flags are read once the account is linked, and the flags end with the link', async () => {
    const member = await aMember([SVIP], { isLinked: false });
    await linkDiscord(db, member.user, { id: member.discordId, username: 'x', avatar: null });
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
    await linkDiscord(db, other.user, { id: member.discordId, username: 'x', avatar: null });
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
    expect(lines.map(({ msg }) => msg)).toEqual([
      'mirroring Discord roles failed: retrying',
      'mirroring Discord roles works again',
    ]);
  });
});

describe('roles that are given', () => {
  test('given roles follow the flags and bans of a linked member, and are taken when they unlink', async () => {
    const own = nextSnowflake();
    guild.addRoles(own);
    const member = await aMember([own, BANNED]);
    await hasRoles(member.discordId, own, LINKED);
    await saveUser(db, member.user.steamId64, { changes: { hasSvip: true }, actor: 'operator' });
    const ban = await aBan(member);
    await hasRoles(member.discordId, own, LINKED, VIP, BANNED);
    await db.update(penalties).set({ status: 'UNBANNED' }).where(eq(penalties.id, ban));
    wakeRoles([member.user.steamId64]);
    await hasRoles(member.discordId, own, LINKED, VIP);
    await unlinkDiscord(db, member.user);
    await hasRoles(member.discordId, own);
    await waitFor(async () => (await storedRow(member.discordId)) === undefined);
  });

  test('given roles are taken from people who are erased, and corrected by the sweep when somebody else changed them', async () => {
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
    await waitFor(async () => (await storedRow(member.discordId)) === undefined);
  });

  test('given roles follow a change that comes while others are being given', async () => {
    const member = await aMember();
    fake.fail({ matches: new RegExp(`^PUT .*${member.discordId}/roles/${LINKED}`), response: 'lost' });
    await hasRoles(member.discordId, LINKED);
    await saveUser(db, member.user.steamId64, { changes: { hasSvip: true }, actor: 'operator' });
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
    fake.fail({
      matches: /^DELETE .*\/roles\//,
      times: 6,
      response: () => new Response('', { status: 500 }),
    });
    await unlinkDiscord(db, member.user);
    for (const failures of [1, 2]) {
      await waitFor(async () => (await storedRow(member.discordId))?.failures === failures);
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
    await saveUser(db, member.user.steamId64, { changes: { hasSvip: true }, actor: 'operator' });
    await aBan(member);
    await hasRoles(member.discordId, LINKED, BANNED);
    guild.roles.set(VIP, role);
    await hasRoles(member.discordId, LINKED, BANNED, VIP);
    await waitFor(() => health()?.missing === undefined);
    expect(changesOf(member.discordId)).toEqual([`PUT ${LINKED}`, `PUT ${BANNED}`, `PUT ${VIP}`]);
    expect(lines.filter(({ msg }) => msg.includes('configured Discord roles'))).toMatchObject([
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
      response: () => Response.json({ message: 'Missing Permissions', code: 50013 }, { status: 403 }),
    });
    await saveUser(db, refused.user.steamId64, { changes: { hasSvip: true }, actor: 'operator' });
    await linkDiscord(db, refused.user, { id: refused.discordId, username: 'x', avatar: null });
    await hasRoles(refused.discordId, VIP);
    await waitFor(() => health()?.problems);
    clock.aheadMs += 10_000;
    await hasRoles(refused.discordId, VIP, LINKED);
    expect(changesOf(refused.discordId)).toEqual([`PUT ${LINKED}`, `PUT ${VIP}`, `PUT ${LINKED}`]);
  });
});
