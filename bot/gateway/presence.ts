import type { REST } from '@discordjs/rest';
import { Routes } from 'discord.js';
import { LANGUAGES, type Language } from '../../src/domain/language.ts';
import { createLoop } from '../../src/runtime/loop.ts';
import type { BotContext } from '../context.ts';
import type { Localization } from '../locales/localization.ts';

/**
 * The bot's presence: how many players are on how many online servers, or since when nobody has checked. Its language is
 * that of `DISCORD_LOCALE`, else of the only guild, else English.
 * @param context.show shows a text under the bot's name; false while the bot is not connected.
 */
export function createPresence(
  context: BotContext & { language: Language | undefined; timeZone: string; show: (text: string) => boolean },
): {
  start: () => void;
  stop: () => Promise<void>;
} {
  const { rest, guildId, language, timeZone, localizeGuild, servers, show, timings, log } = context;
  let latest: string | undefined;
  let locale: string | undefined;
  const loop = createLoop({
    name: 'showing the presence',
    everyMs: timings.presenceIntervalMs,
    work: update,
    log,
  });

  async function update(): Promise<void> {
    const needsLocale = guildId !== undefined && language === undefined;
    locale ??= needsLocale ? await findLocale(rest, guildId) : 'en-US';
    const views = servers.listViews();
    const online = views.filter(({ isOnline }) => isOnline);
    const players = online.reduce((sum, { playersCount }) => sum + playersCount, 0);
    const uncheckedMs = Math.max(...views.map(({ uncheckedSince }) => uncheckedSince?.getTime() ?? 0));
    const { texts, ...format } = localizeGuild(locale ?? 'en-US');
    const text =
      online.length === 0 && uncheckedMs > 0
        ? texts.server.uncheckedSince(formatTime(uncheckedMs, { ...format, timeZone }))
        : texts.server.presence(players, online.length);
    if (text !== latest && show(text)) latest = text;
  }

  return {
    start: () => {
      // A new session has no presence.
      latest = undefined;
      void loop.wake();
      loop.start();
    },
    stop: loop.stop,
  };
}

type TimeFormat = Omit<Localization, 'texts'> & { timeZone: string };

/** `21 Nov, 10:42 UTC`. */
function formatTime(atMs: number, { language, intl, timeZone }: TimeFormat): string {
  const date = { day: 'numeric', month: LANGUAGES[language].months } as const;
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' } as const;
  return new Intl.DateTimeFormat(intl, { ...date, ...clock, timeZone }).format(atMs);
}

/** The language of a guild; undefined while Discord does not say. */
async function findLocale(rest: REST, guildId: string): Promise<string | undefined> {
  const guild = await rest.get(Routes.guild(guildId)).catch(() => undefined);
  const isKnown = typeof guild === 'object' && guild !== null && 'preferred_locale' in guild;
  return isKnown ? String(guild.preferred_locale) : undefined;
}
