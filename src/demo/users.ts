import type { users } from '../db/schema/accounts.ts';
import type { Person } from './people.ts';
import { createRandom } from './random.ts';

type NewUser = typeof users.$inferInsert;

/** The number of people who are users. The first sixteen have every combination of the four flags. */
const DEMO_USERS = 60;
const FLAGGED = 16;
/** Discord ids of the future, which no real account has. */
const FIRST_DISCORD_ID = 1_999_000_000_000_000_000n;

/**
 * Users with Discord accounts (some without), and every combination of flags. None has a picture: their browsers would ask
 * Discord for made-up ones.
 * Number 15 is owner, admin, SVIP and service plus.
 */
export function createUsers(people: readonly Person[], now: Date, seed: number): NewUser[] {
  const random = createRandom(seed + 1);
  return people.slice(0, DEMO_USERS).map((person, number) => {
    const flags = number < FLAGGED ? number : random.chance(0.2) ? 0b0100 : 0;
    const hasDiscord = number < FLAGGED || random.chance(0.75);
    const createdAt = new Date(
      now.getTime() - random.between(1, 1000) * 86_400_000 - random.below(86_400_000),
    );
    return {
      steamId64: person.steamId64,
      nickname: person.name,
      isAdmin: (flags & 0b0001) !== 0,
      isOwner: (flags & 0b0010) !== 0,
      hasSvip: (flags & 0b0100) !== 0,
      isServiceplus: (flags & 0b1000) !== 0,
      createdAt,
      signedInAt: createdAt,
      ...(hasDiscord && discordOf(person, number)),
    };
  });
}

function discordOf(person: Person, number: number) {
  const plain = person.name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_.]/g, '')
    .toLowerCase();
  return {
    discordId: String(FIRST_DISCORD_ID + BigInt(number) * 7_310_585_129n),
    discordUsername: plain.length >= 2 ? plain.slice(0, 32) : `gracz${1000 + number}`,
  };
}
