import { afterAll, expect, test } from 'bun:test';
import { localizationOf } from '../../../bot/locales/localization.ts';
import { drawPlayerChart } from '../../../src/charts/player-chart.tsx';
import { PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { startFeedBot } from '../../support/bot/feeds.ts';
import { SAMPLE_HISTORY as points, SAMPLE_RANGE as range } from '../../support/bot/history.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import type { Exchange } from '../../support/discord/exchange.ts';
import { componentsOf, type FakeMessage } from '../../support/discord/messages.ts';
import { PSEUDO_LOCALE, speakPseudoLanguage } from '../../support/languages/pseudo-language.ts';

/** A picture with English words and the labels of {@link PSEUDO_LOCALE}. */
const picture = await drawChart();
const language = speakPseudoLanguage();
afterAll(() => language[Symbol.dispose]());
const { fake, db, poll, startFeed, settle } = await startFeedBot({
  appealUrl: 'https://appeal.example.org',
});
const locales = { locale: PSEUDO_LOCALE, guildLocale: PSEUDO_LOCALE };
/** What others wrote: without a Latin letter. */
const NAME = 'Ωμέγα';

function drawChart() {
  const { texts } = localizationOf(PSEUDO_LOCALE);
  return drawPlayerChart({ points, range, words: texts.chart, intl: PSEUDO_LOCALE, timeZone: 'UTC' });
}

const PROSE = new Set(['content', 'title', 'description', 'text', 'label', 'placeholder', 'name', 'value']);

/** The words in Latin letters among the texts that people read of a message or a command. */
function findForeignWords(value: unknown, key = ''): string[] {
  if (typeof value === 'string') {
    // Mentions, times, texts to type or copy, and the values of an option.
    const prose = value.replace(/<[^>]*>|`[^`]*`|https?:\S+/g, ' ').replace(PENALTY_TYPES.join(', '), '');
    return PROSE.has(key) ? (prose.match(/\S*[a-z]\S*/gi) ?? []) : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    return findForeignWords(each, Array.isArray(value) ? key : name);
  });
}

/** What people read of a message. */
function proseOf(message: FakeMessage): unknown {
  const { content, embeds, attachments } = message;
  const controls = componentsOf(message).map(({ label, placeholder, options }) => ({
    label,
    placeholder,
    choices: options?.map(({ label, description }) => ({ label, description })),
  }));
  return { content, embeds, controls, attachments: attachments.map(({ description }) => ({ description })) };
}

test('commands, options and choices have names and descriptions in a new language', () => {
  const missing: string[] = [];
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, each] of Object.entries(value)) {
      const localized = Reflect.get(value, `${key}_localizations`)?.[PSEUDO_LOCALE];
      const isText = key === 'name' || key === 'description';
      if (isText && (localized === undefined || /[a-z]/i.test(localized)))
        missing.push(`${each}: ${localized}`);
      if (!key.endsWith('_localizations')) visit(each);
    }
  };
  expect(fake.commands.get('global')).toHaveLength(6);
  visit(fake.commands.get('global'));
  expect(missing).toEqual([]);
});

test('no message of the bot shows a word of another language', async () => {
  const server = { name: NAME, mode: NAME, region: NAME };
  const online = await insertServer(db, { ...server, slug: 'one' });
  const offline = await insertServer(db, { ...server, slug: 'two' });
  await insertServer(db, { ...server, slug: 'three' });
  await poll(online.id, { hostname: NAME, map: '1', players: [{ name: NAME, score: 1 }], playersCount: 30 });
  await poll(offline.id, { hostname: NAME, map: '1' }, new Date('2026-11-20T10:00:00Z'));
  for (const second of [15, 30]) await poll(offline.id, undefined, new Date(`2026-11-20T10:00:${second}Z`));
  const member = anActor({ ...locales, userId: '700000000000000001' });
  const moderator = anActor({ ...locales, isModerator: true, isManager: true });
  await insertUser(db, 1, {
    nickname: NAME,
    discordId: member.user.id,
    discordUsername: NAME,
    hasSvip: true,
  });
  await insertUser(db, 2, { nickname: '', isOwner: true });
  const penalty = { playerName: NAME, adminName: NAME, reason: NAME, durationMinutes: 60 };
  await insertPenalties(db, [
    ...(['ban', 'mute', 'gag', 'silence', 'warn'] as const).flatMap((type) => [
      { ...penalty, type, endsAt: new Date(Date.now() + 3_600_000) },
      { ...penalty, type, durationMinutes: 0, adminName: '', reason: '', serverId: 0 },
    ]),
    { ...penalty, status: 'UNBANNED', liftedByName: NAME, liftReason: NAME, liftedAt: new Date() },
    { ...penalty, status: 'EXPIRED', endsAt: new Date('2026-11-20T10:00:00Z') },
  ]);

  const seen: unknown[] = [];
  const see = (exchange: Exchange) => {
    seen.push(
      ...[exchange.message, ...exchange.followUps].flatMap((message) => (message ? [proseOf(message)] : [])),
    );
    return exchange;
  };
  const commands: [name: string, options: Record<string, string>, actor: typeof member][] = [
    ['server', {}, moderator],
    ['server', { name: 'one' }, moderator],
    ['server', { name: 'two' }, member],
    ['server', { name: 'three' }, member],
    ['server', { name: NAME.repeat(2) }, member],
    ['ban-check', {}, member],
    ['ban-check', {}, moderator],
    ['ban-check', { steamid: aSteamId(1) }, moderator],
    ['ban-check', { steamid: aSteamId(9) }, moderator],
    ['ban-check', { steamid: aSteamId(9) }, member],
    ['ban-check', { steamid: NAME }, moderator],
    ['ban-check', { player: NAME }, moderator],
    ['lookup', { steamid: aSteamId(1) }, moderator],
    ['lookup', { steamid: aSteamId(2) }, moderator],
    ['lookup', { steamid: aSteamId(8) }, moderator],
    ['lookup', {}, moderator],
    ['feed list', {}, moderator],
    ['feed list', {}, member],
    ['feed stop', { what: 'servers' }, moderator],
    ['feed start', { what: 'penalties', types: NAME }, moderator],
    ['feed start', { what: 'servers', types: 'ban' }, moderator],
  ];
  for (const [name, options, actor] of commands) {
    const { message } = see(await fake.command(name, options, actor));
    for (const { custom_id: id = '', options: choices } of componentsOf(message)) {
      for (const choice of choices ?? [undefined]) {
        // Another control may have changed the message.
        const isThere = componentsOf(message).some(
          (control) => control.custom_id === id && !control.disabled,
        );
        if (!message || !isThere) continue;
        see(
          await (choice ? fake.select(message, id, [choice.value], actor) : fake.press(message, id, actor)),
        );
      }
    }
  }
  const feed = await startFeed({ what: 'penalties' }, { guildLocale: PSEUDO_LOCALE });
  await insertPenalties(db, [{ ...penalty, endsAt: new Date(Date.now() + 3_600_000), serverId: online.id }]);
  await settle();
  seen.push(...feed.messages().map(proseOf));

  expect(seen.length).toBeGreaterThan(40);
  expect(seen.filter((message) => !JSON.stringify(message).includes('⟦'))).toEqual([]);
  expect([...new Set(findForeignWords(seen))]).toEqual([]);
});

test('the words in a picture change with the language', async () => {
  const translated = await drawChart();
  expect(Buffer.from(translated).equals(Buffer.from(picture))).toBe(false);
});
