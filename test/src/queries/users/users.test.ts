import { expect, test } from 'bun:test';
import { Conflict } from '../../../../src/domain/errors.ts';
import { linkDiscord, saveUser } from '../../../../src/queries/users/user-changes.ts';
import { findUserByDiscordId } from '../../../../src/queries/users/users.ts';
import { insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();

test('one Discord account given to many players at once goes to one of them, and the others are refused with a reason', async () => {
  const players = await Promise.all([1, 2, 3, 4, 5, 6].map((number) => insertUser(db, number)));
  for (let round = 1; round <= 20; round++) {
    const id = String(80351110224678000n + BigInt(round));
    const attempts = await Promise.allSettled(
      players.map((player, index) =>
        index % 2 === 0
          ? saveUser(db, player.steamId64, { changes: { discordId: id }, actor: 'operator' })
          : linkDiscord(db, player, { id, username: 'nelly', avatar: null }),
      ),
    );
    const refusals = attempts.filter((attempt) => attempt.status === 'rejected');
    expect(refusals).toHaveLength(players.length - 1);
    for (const { reason } of refusals) {
      expect(reason).toBeInstanceOf(Conflict);
      expect(reason.message).toMatch(new RegExp(`^The Discord account ${id} is linked to `));
    }
    expect(await findUserByDiscordId(db, id)).toBeDefined();
  }
});
