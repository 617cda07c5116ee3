import { RESTJSONErrorCodes } from 'discord.js';
import { atEnd } from '../cleanup.ts';
import { createApplicationRoutes } from './application-routes.ts';
import type { Exchange } from './exchange.ts';
import { FakeGateway } from './fake-gateway.ts';
import { createFaults } from './faults.ts';
import { createGuild } from './guild.ts';
import { createInteractionRoutes } from './interaction-routes.ts';
import { createInteractions } from './interactions.ts';
import { createMessageStore } from './messages.ts';
import { json, type RestCall, readRestCall, restError } from './rest-call.ts';

/** https://docs.discord.com/developers/interactions/receiving-and-responding#responding-to-an-interaction */
export const ACKNOWLEDGE_WITHIN_MS = 3000;

export type FakeDiscord = Awaited<ReturnType<typeof startFakeDiscord>>;

type Options = {
  guildIds?: readonly string[];
  heartbeatIntervalMs?: number;
  botIsPublic?: boolean;
  /** Keeps no messages and no requests, for runs of very many. */
  forgets?: boolean;
};

/**
 * Discord on loopback: REST and gateway on one port, checking what Discord's documentation says it checks.
 * Tests send interactions as people would cause them, and read what came back. Stopped at the end of the test file.
 */
export async function startFakeDiscord({
  guildIds = ['900000000000000001'],
  heartbeatIntervalMs = 41_250,
  botIsPublic = false,
  forgets = false,
}: Options = {}) {
  const token = 'MTIz.fake.token';
  const applicationId = '800000000000000001';
  const botUser = {
    id: applicationId,
    username: 'community',
    discriminator: '0',
    bot: true,
    avatar: null,
    global_name: null,
  };
  const state = {
    token,
    guildAccess: true,
    botIsPublic,
    /** The language of all guilds. */
    guildLocale: 'en-US',
    /** Raised by tests of what must not depend on how fast the machine is. */
    acknowledgeWithinMs: ACKNOWLEDGE_WITHIN_MS,
  };
  const exchanges = new Map<string, Exchange>();
  const requests: { at: number; method: string; path: string; body: unknown; status: number }[] = [];
  const faults = createFaults();
  const messages = createMessageStore(botUser, { keeps: !forgets });
  const application = createApplicationRoutes({ applicationId, guildIds, messages, state });
  const guild = createGuild({ guildId: guildIds[0] ?? '1', botId: applicationId });
  let port = 0;
  const gateway = new FakeGateway({
    token,
    applicationId,
    botUser,
    guildIds: () => (state.guildAccess ? guildIds : []),
    heartbeatIntervalMs,
    url: () => `ws://127.0.0.1:${port}/gateway`,
  });
  const { onAcknowledged, ...interactions } = createInteractions({
    applicationId,
    exchanges,
    dispatch: (type, data) => gateway.dispatch(type, data),
    membership: (userId) => guild.members.get(userId),
    state,
  });
  const { acknowledge, useWebhook } = createInteractionRoutes({
    exchanges,
    messages,
    state,
    onAcknowledged: (exchange) => {
      onAcknowledged(exchange);
      if (forgets) exchanges.delete(exchange.token);
    },
  });

  const listen = () =>
    Bun.serve<undefined>({
      hostname: '127.0.0.1',
      port,
      idleTimeout: 0,
      fetch: async (request, server) => {
        if (!new URL(request.url).pathname.startsWith('/gateway')) return handle(request);
        return server.upgrade(request) ? undefined : new Response('Upgrade expected', { status: 426 });
      },
      websocket: {
        open: (socket) => gateway.open(socket),
        message: (socket, text) => gateway.receive(socket, text),
        close: (socket) => gateway.closed(socket),
      },
    });
  let server: ReturnType<typeof listen> | undefined = listen();
  port = server.port ?? 0;

  async function handle(request: Request): Promise<Response> {
    const call = await readRestCall(request);
    const { method, path, body } = call;
    const response = await faults.respond(`${method} ${path}`, () => route(call));
    if (!forgets) requests.push({ at: Date.now(), method, path, body, status: response.status });
    return response;
  }

  function route(call: RestCall): Response {
    const { method, path } = call;
    const callback = path.match(/^\/interactions\/(\d+)\/([^/]+)\/callback$/);
    if (callback) return acknowledge(call, callback[1] ?? '', callback[2] ?? '');
    const webhook = path.match(/^\/webhooks\/\d+\/([^/]+)(?:\/messages\/([^/]+))?$/);
    if (webhook) return useWebhook(call, webhook[1] ?? '', webhook[2]);
    if (call.authorization !== `Bot ${state.token}`) return restError(401, 0, '401: Unauthorized');
    if (path === '/gateway/bot') return json(200, gateway.description());
    if (path === '/users/@me/channels') return application.openDirectChannel(call);
    if (path === '/users/@me/guilds')
      return json(200, state.guildAccess ? guildIds.map((id) => ({ id })) : []);
    if (path === '/users/@me') return json(200, botUser);
    if (path === '/applications/@me' || path === '/oauth2/applications/@me')
      return json(200, { id: applicationId, name: 'community', bot_public: state.botIsPublic, flags: 0 });
    const [, guildId = ''] = path.match(/^\/guilds\/(\d+)/) ?? [];
    if (guildIds.includes(guildId)) {
      if (!state.guildAccess) return restError(403, RESTJSONErrorCodes.MissingAccess);
      return guild.respond(call) ?? json(200, { id: guildId, preferred_locale: state.guildLocale });
    }
    const scope = path.match(/^\/applications\/(\d+)(?:\/guilds\/(\d+))?\/commands$/);
    if (scope) return application.useCommands(call, scope[1] ?? '', scope[2]);
    const channel = path.match(/^\/channels\/(\d+)\/messages(?:\/(\d+))?$/);
    if (channel) return application.useChannel(call, channel[1] ?? '', channel[2]);
    const changed = path.match(/^\/channels\/(\d+)$/);
    if (changed && method === 'PATCH') return application.changeChannel(call, changed[1] ?? '');
    if (changed) return application.describeChannel(changed[1] ?? '');
    const published = path.match(/^\/channels\/\d+\/messages\/(\d+)\/crosspost$/);
    if (published) return application.publish(published[1] ?? '');
    return restError(404, 0, '404: Not Found');
  }

  async function stop(): Promise<void> {
    faults.release();
    gateway.close(1000);
    await server?.stop(true);
    server = undefined;
  }
  atEnd(stop);

  const messagesIn = (channelId: string | undefined) =>
    [...messages.all.values()].filter(({ channel_id: channel }) => channel === channelId);

  return {
    apiUrl: `http://127.0.0.1:${port}`,
    token,
    applicationId,
    gateway,
    guild,
    ...application,
    messages: messages.all,
    requests,
    /** The messages of a channel, the oldest first. */
    messagesIn,
    /** The messages of a channel that respond to no interaction, the oldest first. */
    postsIn: (channelId: string) =>
      messagesIn(channelId).filter(({ interaction_metadata: origin }) => origin === undefined),
    /** What a user was told directly. */
    directMessagesTo: (userId: string) => messagesIn(application.directChannels.get(userId)),
    state,
    ...interactions,
    /** Makes requests to come fail. */
    fail: faults.add,
    isHanging: faults.isHanging,
    clearFaults: faults.clear,
    /** The bot is removed from its guilds; Discord drops their commands, and tells nobody without the Guilds intent. */
    removeBot: () => {
      state.guildAccess = false;
      for (const id of guildIds) application.commands.delete(id);
    },
    inviteBot: () => {
      state.guildAccess = true;
    },
    /** Becomes unreachable: the port is closed and every connection breaks. */
    goAway: async () => {
      gateway.close(1006);
      await server?.stop(true);
      server = undefined;
    },
    comeBack: () => {
      server ??= listen();
    },
    stop,
  };
}
