import { customType, type PgTimestampBuilderInitial, timestamp } from 'drizzle-orm/pg-core';
import type { SteamId64 } from '../../domain/steam-id.ts';

/** A SteamID64: bigint in the table, string in the code, because it exceeds 2^53. */
export const steamId64 = customType<{ data: SteamId64; driverData: string }>({
  dataType: () => 'bigint',
  fromDriver: (value) => String(value) as SteamId64,
});

/** A Discord id: bigint in the table, string in the code, because it exceeds 2^53. */
export const snowflake = customType<{ data: string; driverData: string }>({
  dataType: () => 'bigint',
  fromDriver: (value) => String(value),
});

/** A point in time to the millisecond, the precision of a `Date`. */
export const instant = (name: string): PgTimestampBuilderInitial<string> =>
  timestamp(name, { withTimezone: true, mode: 'date', precision: 3 });
