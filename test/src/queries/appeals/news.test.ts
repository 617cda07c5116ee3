import { expect, test } from 'bun:test';
import { finishAppealNews, listUnsentAppealNews } from '../../../../src/queries/appeals/news.ts';
import { insertAppeal } from '../../../support/bot/appeals.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { queueBehind } from '../../../support/database/lock-waits.ts';

const { db } = await createTestDatabase();

test('a question stored while an earlier one is being recorded as sent is still sent', async () => {
  const appeal = await insertAppeal(db, { wantsMessages: true });
  await appeal.act('asked');
  const [first] = await listUnsentAppealNews(db);
  if (!first) throw new Error('nothing is to be sent');
  await queueBehind(db, (tx) => appeal.actIn(tx, 'asked'), [() => finishAppealNews(db, first)]);
  const [second] = await listUnsentAppealNews(db);
  expect(second?.messageId).toBeGreaterThan(Number(first.messageId));
});
