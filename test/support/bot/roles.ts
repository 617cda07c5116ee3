import { eq } from 'drizzle-orm';
import type { BotDeps } from '../../../bot/bot.ts';
import { users } from '../../../src/db/schema/accounts.ts';
import { discordMembers } from '../../../src/db/schema/discord.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { createMirrorMetrics } from '../../../src/import/rounds.ts';
import { isMemberDue, SWEEP_SETTING } from '../../../src/queries/discord/members.ts';
import { findSetting } from '../../../src/queries/settings.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { insertPenalties, insertUser } from '../database/builders.ts';
import { nextSnowflake } from '../discord/snowflake.ts';
import { waitFor } from '../wait.ts';
import { startTestBot } from './bot.ts';

const GUILD = '900000000000000001';
/** Roles that give flags. */
export const [SVIP, PLUS] = ['710000000000000001', '710000000000000002'] as const;
/** Roles that follow facts. */
export const [LINKED, VIP, BANNED] = [
  '710000000000000003',
  '710000000000000004',
  '710000000000000005',
] as const;

export const ROLES = {
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

type TestMember = { discordId: string; user: { id: number; steamId64: SteamId64 } };

/** A bot whose guild has the roles of {@link ROLES}, with a clock that can be moved. */
export async function startRolesBot({ roles = ROLES }: { roles?: BotDeps['roles'] } = {}) {
  const clock = { aheadMs: 0, now: () => new Date(Date.now() + clock.aheadMs) };
  const metrics = createMetrics();
  const harness = await startTestBot({
    bot: { guildId: GUILD, roles, mirrorMetrics: createMirrorMetrics(metrics), now: clock.now },
  });
  const { db, fake } = harness;
  const { guild } = fake;
  guild.addRoles(SVIP, PLUS, LINKED, VIP, BANNED);
  let lastNumber = 0;
  await harness.connect();

  async function flagsOf({ user }: TestMember): Promise<string> {
    const [row] = await db.select().from(users).where(eq(users.id, user.id));
    return [row?.hasSvip && 'svip', row?.isServiceplus && 'plus'].filter(Boolean).join();
  }
  async function storedRow(discordId: string) {
    const [row] = await db.select().from(discordMembers).where(eq(discordMembers.discordId, discordId));
    return row;
  }
  /** Waits until the sweep under way has ended. */
  async function sweepEnds(): Promise<void> {
    await waitFor(async () => {
      const { endsAt } = JSON.parse((await findSetting(db, SWEEP_SETTING)) ?? '{}');
      return endsAt !== undefined && new Date(endsAt) > clock.now();
    });
  }

  /** Lets an hour pass, once it is nobody's turn. @param options.before called just before. */
  async function passHour({ before = () => {} } = {}): Promise<void> {
    await waitFor(async () => !(await isMemberDue(db, clock.now())));
    before();
    clock.aheadMs += 3_600_001;
  }

  const health = () => harness.bot.health().roles;

  return Object.assign(harness, {
    guild,
    /** Of the bot. */
    clock,
    metrics,
    health,
    wakeRoles: (players?: readonly SteamId64[]) => harness.bot.wakeRoles(players),
    /** A member of the guild, linked to an account unless told otherwise. */
    aMember: async (roleIds: string[] = [], { isLinked = true, boosts = false, isHere = true } = {}) => {
      lastNumber += 1;
      const discordId = nextSnowflake();
      if (isHere) guild.setMember(discordId, roleIds, { boosts });
      const user = await insertUser(db, lastNumber, isLinked ? { discordId } : {});
      return { discordId, user };
    },
    /** Inserts a ban, of which the service tells the bot. */
    aBan: async ({ user }: TestMember) => {
      const [ban] = await insertPenalties(db, [{ playerSteamId: user.steamId64 }]);
      harness.bot.wakeRoles([user.steamId64]);
      return ban?.id ?? 0;
    },
    flagsOf,
    storedRow,
    hasRoles: (discordId: string, ...ids: string[]) =>
      waitFor(() => guild.rolesOf(discordId)?.join() === ids.toSorted().join()),
    hasFlags: (member: TestMember, flags: string) => waitFor(async () => (await flagsOf(member)) === flags),
    /** Lets an hour pass, and waits until everybody's roles have been read again, and the sweep has ended. */
    sweep: async () => {
      await passHour();
      await sweepEnds();
    },
    passHour,
    sweepEnds,
    /** Waits for a round that began after this call. */
    nextRound: async () => {
      for (let round = 0; round < 2; round += 1) {
        const before = health()?.lastRoundAt?.getTime();
        await waitFor(() => health()?.lastRoundAt?.getTime() !== before);
      }
    },
    readsOf: (discordId: string) =>
      fake.requests.filter(({ method, path }) => method === 'GET' && path.endsWith(`/members/${discordId}`)),
    changesOf: (discordId: string) =>
      fake.requests
        .filter(({ method, path }) => method !== 'GET' && path.includes(`/members/${discordId}/`))
        .map(({ method, path }) => `${method} ${path.split('/').at(-1)}`),
  });
}
