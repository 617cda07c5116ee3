import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../bot/locales/localization.ts';
import { startTestBot } from '../support/bot/bot.ts';
import { aSteamId } from '../support/database/builders.ts';
import { anActor } from '../support/discord/actor.ts';
import { waitFor } from '../support/wait.ts';

const { en, pl } = BOT_TEXTS;

const GUILD = '900000000000000001';
const { fake, bot, startNext, lines, connect } = await startTestBot();
const registrations = () => fake.requests.filter(({ method, status }) => method === 'PUT' && status === 200);

/**
 * The first lines of the responses to a member who asks about somebody else, and to a manager who lists, starts and
 * stops feeds.
 */
async function readNotices(locale: string): Promise<string[]> {
  const member = anActor({ locale });
  const manager = anActor({ locale, isManager: true });
  const refused = await fake.command('ban-check', { steamid: aSteamId(5) }, member);
  const listed = await fake.command('feed list', {}, manager);
  const started = await fake.command('feed start', { what: 'servers' }, manager);
  await fake.command('feed stop', { what: 'servers' }, manager);
  return [refused, listed, started].map(
    ({ message }) => message?.embeds[0]?.description?.split('\n')[0] ?? '',
  );
}

test('names commands as the reader types them while Discord has not registered them', async () => {
  fake.fail({ matches: /^PUT .*commands/, response: () => new Response('no', { status: 400 }), times: 100 });
  await connect();
  expect(lines.some(({ msg }) => msg.includes('could not be registered'))).toBe(true);
  expect(await readNotices('en-US')).toEqual([
    en.refusals.moderateMembersRequired('`/ban-check`'),
    en.feed.none('`/feed start`'),
    `📣 ${en.feed.started({ subject: 'servers', stop: '`/feed stop`' })}`,
  ]);
  expect(await readNotices('pl')).toEqual([
    pl.refusals.moderateMembersRequired('`/sprawdź-bany`'),
    pl.feed.none('`/powiadomienia włącz`'),
    `📣 ${pl.feed.started({ subject: 'servers', stop: '`/powiadomienia wyłącz`' })}`,
  ]);
  await bot.stop();
  fake.clearFaults();
});

test.each([
  ['global', undefined],
  ['guild', GUILD],
])(
  '%s commands are mentioned by their ids, in both languages, after a restart too',
  async (scope, guildId) => {
    for (const start of ['first', 'second']) {
      lines.length = 0;
      const before = registrations().length;
      const next = await startNext({ guildId });
      await waitFor(() => lines.some(({ msg }) => msg.startsWith('slash commands')));
      const [banCheck, feed] = ['ban-check', 'feed'].map((name) =>
        fake.commandId(name, scope === 'guild' ? GUILD : 'global'),
      );
      expect(banCheck).toMatch(/^[0-9]+$/);
      for (const locale of ['en-US', 'pl']) {
        const [refused, listed, started] = await readNotices(locale);
        expect(refused).toContain(`</ban-check:${banCheck}>`);
        expect(listed).toContain(`</feed start:${feed}>`);
        expect(started).toContain(`</feed stop:${feed}>`);
        for (const text of [refused, listed, started]) expect(text).not.toContain('`/');
      }
      // The second start finds them registered, and asks for their ids.
      if (start === 'second') expect(registrations()).toHaveLength(before);
      await next.stop();
    }
  },
);
