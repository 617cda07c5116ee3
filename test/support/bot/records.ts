import type { Db } from '../../../src/db/client.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../database/builders.ts';

/** The time that {@link insertSampleRecords} is made for. */
export const RECORDS_NOW = new Date('2026-11-21T12:00:00Z');

/**
 * Player 1, "Rzeźnik_1" with a Discord link, has 12 penalties: a ban and a gag that are active, an expired ban, a lifted
 * mute and 8 expired warnings. Player 2, "Clean", has none.
 */
export async function insertSampleRecords(db: Db, { discordId }: { discordId: string }): Promise<void> {
  const server = await insertServer(db, { name: 'Only *Mirage*' });
  await insertUser(db, 1, { nickname: 'Rzeźnik_1', discordId });
  await insertUser(db, 2, { nickname: 'Clean', discordId: '700000000000000002' });
  await insertPenalties(db, [
    {
      type: 'ban',
      reason: 'Old expired',
      durationMinutes: 90,
      createdAt: new Date('2026-11-20T10:00:00Z'),
      endsAt: new Date('2026-11-20T11:30:00Z'),
    },
    {
      type: 'ban',
      reason: '`wall` @everyone\n# [hack](https://x.y)',
      createdAt: new Date('2026-10-01T10:00:00Z'),
      serverId: server.id,
      adminName: 'Ala_*',
    },
    {
      type: 'mute',
      status: 'UNBANNED',
      reason: 'Spam',
      durationMinutes: 1440,
      createdAt: new Date('2026-11-10T10:00:00Z'),
      endsAt: new Date('2026-11-11T10:00:00Z'),
      liftedAt: new Date('2026-11-10T12:00:00Z'),
      liftedByName: 'Ola',
      liftReason: 'Appeal_1',
      serverId: 0,
    },
    {
      type: 'gag',
      reason: '',
      durationMinutes: 120,
      createdAt: new Date('2026-11-21T11:00:00Z'),
      endsAt: new Date('2026-11-21T13:00:00Z'),
      adminName: '',
      adminSteamId: aSteamId(900),
      serverId: 4242,
    },
    ...Array.from({ length: 8 }, (_, number) => ({
      type: 'warn' as const,
      status: 'EXPIRED' as const,
      reason: `warning ${number}`,
      durationMinutes: 60,
      createdAt: new Date(Date.parse('2026-11-15T10:00:00Z') + number * 60_000),
      endsAt: new Date('2026-11-15T12:00:00Z'),
    })),
  ]);
}
