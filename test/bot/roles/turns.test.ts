import { describe, expect, test } from 'bun:test';
import { count, eq, sql } from 'drizzle-orm';
import { userFlags, users } from '../../../src/db/schema/accounts.ts';
import { discordMembers } from '../../../src/db/schema/discord.ts';
import { forgetMembers, isMemberDue, SWEEP_SETTING } from '../../../src/queries/discord/members.ts';
import { acceptHeldRemovals } from '../../../src/queries/held-removals.ts';
import { findSetting, saveSetting } from '../../../src/queries/settings.ts';
import { LINKED, PLUS, ROLES, SVIP, startRolesBot } from '../../support/bot/roles.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startRolesBot({ roles: { flags: ROLES.flags, gives: [] } });
const { db, fake, guild, clock, health, metrics, lines, sweep, passHour, sweepEnds, restart } = harness;

const MEMBERS = 24;
const FIRST_ID = 800_000_000_000_010_000n;
const members = Array.from({ length: MEMBERS }, (_, number) =>
  // Accounts that were made about a day apart; the lower bits of their ids are no time.
  String(FIRST_ID + ((BigInt(number) * 86_399_927n) << 22n)),
);
for (const discordId of members) guild.setMember(discordId, [SVIP, LINKED]);
const reads = () =>
  fake.requests.flatMap(({ method, path }) =>
    method === 'GET' ? members.filter((id) => path.endsWith(`/members/${id}`)) : [],
  );
const countFlags = async () => (await db.select({ amount: count() }).from(userFlags))[0]?.amount;
/** Ends the flags of some members at Discord. */
const takeRole = (amount: number) => {
  for (const discordId of members.slice(0, amount)) guild.setMember(discordId, [LINKED]);
};
/** Gives all members the role, and reads them. */
async function giveRole(): Promise<void> {
  for (const discordId of members) guild.setMember(discordId, [SVIP]);
  await sweep();
}

test('all linked members are read, meanwhile the mirror is up, and a restart reads nobody again', async () => {
  await harness.bot.stop();
  await db.delete(discordMembers);
  await forgetMembers(db);
  await db.execute(sql`insert into users (steamid64, discord_id)
    select ${aSteamId(10_000)}::bigint + number, id::bigint
    from unnest(${`{${members.join()}}`}::text[]) with ordinality as members (id, number)`);
  fake.fail({ matches: new RegExp(`members/${members.at(-1)}`), response: 'hang' });
  await restart();
  await waitFor(() => reads().length === MEMBERS - 1);
  expect((await metrics.render()).text).toContain('mirror_up{system="discord"} 1');
  fake.clearFaults();
  await waitFor(async () => (await countFlags()) === MEMBERS);
  await sweepEnds();
  expect(reads()).toHaveLength(MEMBERS);
  await restart();
  await waitFor(() => health()?.isUp);
  expect(reads()).toHaveLength(MEMBERS);
  expect((await metrics.render()).text).toContain('mirror_up{system="discord"} 1');
});

test('each member has a turn once an hour, at a time of their own', async () => {
  await waitFor(() => health()?.isUp);
  const before = reads().length;
  const amounts: number[] = [];
  for (let part = 0; part < 10; part += 1) {
    const start = reads().length;
    clock.aheadMs += 360_000;
    await waitFor(async () => !(await isMemberDue(db, clock.now())));
    amounts.push(reads().length - start);
  }
  expect(Math.max(...amounts)).toBeLessThan(MEMBERS / 3);
  await waitFor(() => new Set(reads().slice(before)).size === MEMBERS);
});

describe('a flag that most members suddenly lose', () => {
  test('stays, also over a restart, until an operator accepts that', async () => {
    await sweep();
    takeRole(22);
    await sweep();
    await waitFor(() => Bun.deepEquals(health()?.held, { has_svip: 22 }));
    expect(await countFlags()).toBe(MEMBERS);
    await restart();
    await waitFor(() => Bun.deepEquals(health()?.held, { has_svip: 22 }));
    await sweep();
    expect(await countFlags()).toBe(MEMBERS);
    expect(lines.filter(({ msg }) => msg.includes('held back for at least six hours'))).toHaveLength(1);

    const before = reads().length;
    await acceptHeldRemovals(db, 'discord', 'operator');
    await waitFor(async () => (await countFlags()) === MEMBERS - 22);
    expect(new Set(reads().slice(before)).size).toBe(MEMBERS);
    await waitFor(() => health()?.held === undefined);
  });

  test('ends when each sweep of six hours found the same', async () => {
    await giveRole();
    await waitFor(async () => (await countFlags()) === MEMBERS);
    takeRole(22);
    for (let hour = 0; hour < 6; hour += 1) {
      await sweep();
      expect(await countFlags()).toBe(MEMBERS);
    }
    await sweep();
    expect(await countFlags()).toBe(MEMBERS - 22);
  });

  test('ends for whoever sends an interaction or unlinks', async () => {
    await giveRole();
    takeRole(22);
    await sweep();
    await waitFor(() => health()?.held);
    const [first = '', second = ''] = members;
    await fake.command('server', {}, anActor({ userId: first }));
    await waitFor(async () => (await countFlags()) === MEMBERS - 1);
    await db.update(users).set({ discordId: null }).where(eq(users.discordId, second));
    expect(await countFlags()).toBe(MEMBERS - 2);
    await giveRole();
    await waitFor(() => health()?.held === undefined);
  });

  test('ends at once when the operator mapped another role to it', async () => {
    const before = reads().length;
    const flags = [{ flag: 'has_svip' as const, permissions: [PLUS] }];
    await passHour();
    await restart({ roles: { flags, gives: [] } });
    await waitFor(async () => (await countFlags()) === 0);
    expect(new Set(reads().slice(before)).size).toBe(MEMBERS - 1);
  });
});

test('roles are kept up to date after the stored sweep was damaged', async () => {
  const stored = JSON.parse((await findSetting(db, SWEEP_SETTING)) ?? '');
  for (const damaged of ['{', 'null', JSON.stringify({ ...stored, endsAt: 'damaged' })]) {
    await harness.bot.stop();
    await saveSetting(db, SWEEP_SETTING, damaged);
    await restart();
    await waitFor(() => health()?.isUp);
  }
});
