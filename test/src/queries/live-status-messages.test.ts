import { expect, test } from 'bun:test';
import { findWhoPinned, saveLiveStatusMessage } from '../../../src/queries/discord/live-status-messages.ts';
import { insertServer, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';

const { db } = await createTestDatabase();

test('finds who pinned a message in a channel with several, with and without an account', async () => {
  await insertUser(db, 1, { discordId: '777' });
  // One server each: a second message of the same server replaces the first.
  for (const [messageId, discordId] of [
    ['1', '777'],
    ['2', '888'],
  ] as const) {
    const { id: serverId } = await insertServer(db);
    const message = { messageId, channelId: '5', guildId: null, serverId, locale: 'en' };
    await saveLiveStatusMessage(db, message, { actor: { discordId } });
  }
  expect(await Promise.all(['1', '2', '3'].map((messageId) => findWhoPinned(db, messageId)))).toEqual([
    '777',
    '888',
    undefined,
  ]);
});
