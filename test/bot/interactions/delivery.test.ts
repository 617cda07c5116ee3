import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { anActor } from '../../support/discord/actor.ts';
import { isEphemeral } from '../../support/discord/messages.ts';
import { waitFor } from '../../support/wait.ts';

const { en } = BOT_TEXTS;

test('a refusal after a public deferral comes without links that Discord rejects', async () => {
  const { fake, connect, outcomes } = await startTestBot({
    bot: { publicUrl: 'http://localhost:3000', timings: { deferAfterMs: 0 } },
  });
  await connect();
  const unlinked = anActor({ isModerator: true });
  const exchange = await fake.command('ban-check', { show: true }, unlinked);
  await waitFor(() => outcomes.length === 1);
  expect(outcomes).toEqual(['refused']);
  const [notice] = exchange.followUps;
  expect(isEphemeral(notice)).toBe(true);
  expect(notice?.embeds[0]?.description).toContain(en.refusals.notLinkedYourself);
});
