import { once } from 'node:events';
import type { Bot } from '../../bot/bot.ts';
import { INTERACTION_OUTCOMES } from '../../bot/interactions/outcome.ts';
import { listPanels } from '../domain/panel.ts';
import { createVanityNames } from '../steam/vanity-names.ts';
import type { Context } from './context.ts';

/** Role `bot`: Discord, in one process at a time. Its failures do not affect the API. */
export async function startBot(context: Context): Promise<void> {
  const { config, log, steamApi, metrics, health } = context;
  const { token, roles, clientId, clientSecret } = config.discord;
  if (token === undefined) {
    health.set('bot', () => 'off');
    log.info('the bot is off: DISCORD_TOKEN is not set');
    return;
  }
  // Imported only here: discord.js would make processes without the bot start later and take more memory.
  const { createBot } = await import('../../bot/bot.ts');
  const countInteraction = metrics.addCounter('bot_interactions_total', 'Interactions by how they ended.', [
    'outcome',
  ]);
  for (const outcome of INTERACTION_OUTCOMES) countInteraction({ outcome }, 0);
  const countLogin = metrics.addCounter('bot_logins_total', 'Attempts to log in to Discord.', []);
  let bot: Bot | undefined;
  context.eventReader.subscribe((events) => {
    void bot?.wakeFeeds();
    const players = events.flatMap((event) =>
      'penalty' in event && event.penalty.type === 'ban' ? [event.penalty.playerSteamId] : [],
    );
    if (players.length > 0) bot?.wakeRoles(players);
  });
  context.changes.onChange('users', () => bot?.wakeRoles());
  const lead = async (signal: AbortSignal) => {
    bot = createBot({
      ...config.discord,
      token,
      publicUrl: config.publicUrl,
      arePenaltiesPublic: config.arePenaltiesPublic,
      appealUrl: config.appealUrl ?? (config.appeals && `${config.publicUrl}/appeal`),
      takesAppeals: config.appeals !== undefined,
      linksAccounts: clientId !== undefined && clientSecret !== undefined,
      panels: listPanels(config.sources),
      database: context.database,
      servers: context.serverList,
      readHistory: context.readHistory,
      timeZone: config.timeZone,
      mirrorMetrics: context.mirrorMetrics,
      vanityNames: createVanityNames(steamApi),
      lookUpSteamBans: steamApi.hasKey ? context.lookUpSteamBans : undefined,
      log,
      countLogin: () => countLogin({}),
      countInteraction: (outcome) => countInteraction({ outcome }),
    });
    bot.start();
    await once(signal, 'abort');
    await bot.stop();
    bot = undefined;
  };
  // Without the database it answers from memory, and nobody else could lead.
  context.onStopPart('bot', context.leaders.run('bot', lead, { outlastsDatabase: true }).stop);
  health.set('bot', () => {
    if (!bot) return { state: 'standby' };
    const { commands: _, roles: __, logins: ___, ...state } = bot.health();
    return state;
  });
  health.set('commands', () => bot?.health().commands);
  if (roles) {
    health.set('mirror_discord', () => bot?.health().roles ?? { isMirroring: false });
  }
  metrics.addGauge('bot_connected', '1 while the bot is connected to Discord, else 0.', () =>
    bot?.health().state === 'ready' ? 1 : 0,
  );
  addPostingMetrics(context, () => bot?.health());
}

/** The health of feeds, live status messages and direct messages, in the process that runs the bot. */
function addPostingMetrics({ metrics }: Context, health: () => ReturnType<Bot['health']> | undefined): void {
  const readAll = () => {
    const state = health();
    if (!state) return [];
    const { feeds, liveMessages, directMessages } = state;
    const kinds = { feed: feeds, live_message: liveMessages, direct_message: directMessages };
    return Object.entries(kinds).map(([kind, values]) => ({ labels: { kind }, ...values }));
  };
  const read = (key: 'total' | 'paused' | 'behind') => () =>
    readAll().map(({ labels, ...values }) => ({ labels, value: values[key] }));
  metrics.addGauges(
    'bot_posts',
    'Feeds, live status messages, and direct messages to be sent.',
    read('total'),
  );
  metrics.addGauges('bot_posts_paused', 'Paused after refusals or by a limit of Discord.', read('paused'));
  metrics.addGauges('bot_posts_behind', 'Posts and edits that failed and are tried again.', read('behind'));
  metrics.addGauges(
    'bot_posts_behind_seconds',
    'How long the first of the failing posts and edits has been failing; 0 without any.',
    () =>
      readAll().map(({ labels, behindSince }) => ({
        labels,
        value: behindSince ? (Date.now() - behindSince.getTime()) / 1000 : 0,
      })),
  );
}
