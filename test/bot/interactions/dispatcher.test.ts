import { beforeEach, describe, expect, test } from 'bun:test';
import type { BotDeps } from '../../../bot/bot.ts';
import { parseCustomId, toCustomId, tryParsePositive } from '../../../bot/embeds/custom-id.ts';
import { createCooldown } from '../../../bot/interactions/cooldown.ts';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { inTransaction } from '../../../src/db/client.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { insertMany } from '../../support/bot/feeds.ts';
import { aSteamId, insertServer, insertUser } from '../../support/database/builders.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { type Exchange, embedOf, messageOf, textOf } from '../../support/discord/exchange.ts';
import { refuse, slowDown } from '../../support/discord/faults.ts';
import { findButton, isEphemeral } from '../../support/discord/messages.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait.ts';

const { en, pl } = BOT_TEXTS;

/** An option whose player is looked up at Steam, slowly or, on demand, in vain. */
const VANITY = { steamid: 'steamcommunity.com/id/somebody' };
const behaviour: { error: Error | undefined } = { error: undefined };
const harness = await startTestBot();
const { fake, db, deps, lines, outcomes, restart } = harness;
const moderator = anActor({ isModerator: true });
const { id: serverId } = await insertServer(db, { slug: 'one', name: 'One' });
await harness.poll(serverId, {});
await insertUser(db, 1, { nickname: 'Somebody', discordId: moderator.user.id });
await insertMany(db, 12);
await harness.refreshServers();
const slowed: Partial<BotDeps> = {
  readHistory: async (serverId, hours) => {
    await Bun.sleep(20);
    return deps.readHistory(serverId, hours);
  },
  vanityNames: {
    ...deps.vanityNames,
    resolve: async () => {
      await Bun.sleep(20);
      if (behaviour.error) throw behaviour.error;
      return aSteamId(1);
    },
  },
};
beforeEach(async () => {
  behaviour.error = undefined;
  fake.clearFaults();
  await restart(slowed);
});

describe('a slow response', () => {
  beforeEach(() => restart({ ...slowed, timings: { deferAfterMs: 0 } }));

  test('defers a slow response in time, with the right visibility, and delivers it when it is there', async () => {
    const hidden = await fake.command('ban-check', VANITY, moderator);
    expect(hidden.callback).toBe(5);
    expect(isEphemeral(hidden.message)).toBe(true);
    await waitFor(() => textOf(hidden)?.includes('⛔'));
    const shown = await fake.command('server', { name: 'one' }, moderator);
    expect(shown.callback).toBe(5);
    expect(isEphemeral(shown.message)).toBe(false);
    await waitFor(() => embedOf(shown).title === 'One');
    const message = messageOf(shown);
    const refreshed = await fake.click(message, en.buttons.refresh, moderator);
    expect(refreshed.callback).toBe(6);
    await waitFor(() => message.edited_timestamp !== null);
  });

  test('a response that fails after it was deferred publicly leaves nothing public behind', async () => {
    behaviour.error = new Error('boom');
    const exchange = await fake.command('ban-check', { ...VANITY, show: true }, moderator);
    expect(exchange.callback).toBe(5);
    await waitFor(() => exchange.followUps.length === 1);
    expect(exchange.isDeleted).toBe(true);
    expect(isEphemeral(exchange.followUps[0])).toBe(true);
  });

  test('a refusal after a public deferral comes without links that Discord rejects', async () => {
    await restart({ publicUrl: 'http://localhost:3000', timings: { deferAfterMs: 0 } });
    const before = outcomes.length;
    const deferred = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const lock = inTransaction(db, async (tx) => {
      await tx.execute('lock table users');
      locked.resolve();
      await deferred.promise;
    });
    await locked.promise;
    const exchange = await fake.command('ban-check', { show: true }, anActor({ isModerator: true }));
    deferred.resolve();
    await lock;
    await waitFor(() => outcomes.length > before);
    expect(outcomes.slice(before)).toEqual(['refused']);
    const [notice] = exchange.followUps;
    expect(isEphemeral(notice)).toBe(true);
    expect(notice?.embeds[0]?.description).toContain(en.refusals.notLinkedYourself);
  });
});

describe('a failure', () => {
  test('a failure is one friendly message, only to the invoker, with an error id that the log has too', async () => {
    behaviour.error = new Error('secret detail: relation "penalties"');
    for (const [locale, words] of [
      ['en-US', en.refusals.failed],
      ['pl', pl.refusals.failed],
    ] as const) {
      const exchange = await fake.command('ban-check', { ...VANITY, show: true }, { ...moderator, locale });
      expect(isEphemeral(exchange.message)).toBe(true);
      const text = textOf(exchange);
      expect(text).not.toContain('secret');
      const errorId = /`([0-9a-f]{8})`/.exec(text)?.[1] ?? '';
      expect(text).toBe(words(errorId));
      const line = lines.find((each) => each.errorId === errorId);
      expect(line?.err?.message).toContain('secret detail');
    }
  });

  test('a failed button leaves the message as it is', async () => {
    const message = messageOf(await fake.command('ban-check', {}, moderator));
    const before = JSON.stringify(message.embeds);
    await db.execute('alter table penalties rename to penalties_elsewhere');
    const pressed = await fake.click(message, en.buttons.next, moderator);
    await db.execute('alter table penalties_elsewhere rename to penalties');
    expect(JSON.stringify(message.embeds)).toBe(before);
    expect(pressed.callback).toBe(4);
  });

  test('a failure of the database says that the data can’t be read right now', async () => {
    behaviour.error = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' });
    const said = textOf(await fake.command('ban-check', VANITY, moderator));
    expect(said).toBe(en.refusals.unavailable(/`([0-9a-f]{8})`/.exec(said)?.[1] ?? ''));
  });
});

describe('a response that Discord does not accept', () => {
  test('gives up a response that is too late, and the next one works', async () => {
    fake.fail({ matches: /callback/, response: refuse(404, 10_062) });
    void fake.command('server');
    await waitFor(() => outcomes.at(-1) === 'undelivered');
    expect((await fake.command('server')).callback).toBe(4);
    await waitFor(() => outcomes.at(-1) === 'completed');
  });

  test('suggestions that are too late are never repeated', async () => {
    const callbacks = () => fake.requests.filter(({ path }) => path.includes('callback')).length;
    const before = callbacks();
    fake.fail({ matches: /callback/, response: refuse(404, 10_062) });
    void fake.autocomplete('server', 'name', 'o');
    await waitFor(() => outcomes.at(-1) === 'undelivered');
    expect(callbacks()).toBe(before + 1);
  });

  test('repeats a response after the wait of a 429, and after a 500', async () => {
    fake.fail({ matches: /callback/, response: slowDown(0.3) });
    const limited = await fake.command('server');
    expect(limited.callback).toBe(4);
    expect((limited.acknowledgedAt ?? 0) - limited.sentAt).toBeGreaterThanOrEqual(300);
    fake.fail({ matches: /callback/, response: refuse(500) });
    expect((await fake.command('server')).callback).toBe(4);
  });

  test('a response that hangs delays nobody else', async () => {
    fake.fail({ matches: /callback/, response: 'hang' });
    void fake.command('server');
    const others = await Promise.all(Array.from({ length: 20 }, () => fake.command('server')));
    expect(others.filter(({ callback }) => callback === 4).length).toBeGreaterThanOrEqual(19);
  });

  test('sends a response without links that Discord refuses (localhost), with its other buttons', async () => {
    await restart({ publicUrl: 'http://localhost:3000' });
    const { message, refusals } = await fake.command('server', { name: 'one' });
    expect(refusals).toEqual([]);
    expect(findButton(message, en.buttons.refresh)).toBeDefined();
    expect(findButton(message, en.buttons.connect)).toBeUndefined();
    const lookup = await fake.command('lookup', { steamid: aSteamId(1) }, anActor({ isModerator: true }));
    expect(findButton(lookup.message, en.buttons.profile)).toBeDefined();
  });
});

test('a command is acknowledged, although Discord has not said who is a moderator', async () => {
  fake.fail({ matches: /^GET \/(oauth2\/)?applications\/@me/, times: 100, response: 'hang' });
  const acknowledged = Promise.withResolvers<void>();
  await restart({
    readHistory: async (serverId, hours) => {
      await acknowledged.promise;
      return deps.readHistory(serverId, hours);
    },
    timings: { deferAfterMs: 0 },
  });
  const exchange = await fake.command('server', { name: 'one' });
  fake.clearFaults();
  acknowledged.resolve();
  expect(exchange.callback).toBe(5);
  await waitFor(() => embedOf(exchange).title === 'One');
});

test('suggestions are given up in time', async () => {
  await waitFor(() => harness.bot.health().moderators === undefined);
  await inTransaction(db, async (tx) => {
    await tx.execute('lock table users, penalties in access exclusive mode');
    const exchange = await fake.autocomplete('lookup', 'player', 'some', moderator);
    expect(exchange.choices).toEqual([]);
  });
  await waitFor(() => outcomes.at(-1) === 'failed');
});

test('the bot acknowledges 500 interactions at once, each of them once', async () => {
  await restart();
  // Nothing is refused for being late, since the machine may be slow.
  fake.state.acknowledgeWithinMs = PATIENCE_MS;
  const exchanges = await sendMany();
  fake.state.acknowledgeWithinMs = 3000;
  expect(exchanges.flatMap(({ refusals }) => refusals)).toEqual([]);
  expect(exchanges.filter(({ acknowledgedAt }) => acknowledgedAt === undefined)).toEqual([]);
});

test('a user who asks too often is told when to go on, and others are not slowed down', async () => {
  await restart({ cooldown: createCooldown({ burst: 3, refillMs: 60_000 }) });
  const actor = anActor({ locale: 'pl' });
  const titleFor = async (asking: Actor) => embedOf(await fake.command('server', {}, asking)).title;
  for (let turn = 0; turn < 3; turn++) expect(await titleFor(actor)).toBe(en.server.allServers);
  const refused = await fake.command('server', {}, actor);
  expect(isEphemeral(refused.message)).toBe(true);
  const said = textOf(refused);
  expect(said).toBe(pl.refusals.tooFast(/<t:\d+:R>/.exec(said)?.[0] ?? 'a time'));
  expect((await fake.autocomplete('server', 'name', 'o', actor)).choices).toHaveLength(1);
  expect(await titleFor(anActor())).toBe(en.server.allServers);
});

test('custom ids carry a name and arguments, and never exceed 100 characters', () => {
  expect(parseCustomId(toCustomId('record.page', 'next', '123', 2))).toEqual({
    name: 'record.page',
    args: ['next', '123', '2'],
  });
  expect(() => toCustomId('x', 'y'.repeat(100))).toThrow('longer than 100');
});

test('a number in a custom id is accepted only if it looks like one', () => {
  expect(tryParsePositive('12')).toBe(12);
  for (const arg of [undefined, '', '0', '-1', '1e3', ' 1', '01', '9999999999', 'x'])
    expect(tryParsePositive(arg)).toBeUndefined();
});

/** 500 interactions at once. @returns them when all are acknowledged. */
function sendMany(): Promise<Exchange[]> {
  return Promise.all(
    Array.from({ length: 500 }, (_, number) => {
      const actor = anActor({ isModerator: true, locale: number % 2 ? 'pl' : 'en-US' });
      if (number % 4 === 0) return fake.command('server', { name: 'one' }, actor);
      if (number % 4 === 1) return fake.command('ban-check', { steamid: aSteamId(1) }, actor);
      if (number % 4 === 2) return fake.command('lookup', { steamid: aSteamId(1) }, actor);
      return fake.autocomplete('server', 'name', 'o', actor);
    }),
  );
}
