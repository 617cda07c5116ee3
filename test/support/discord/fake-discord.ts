import { checkCommands, type FakeCommand } from './command-form.ts';
import { FakeGateway, type SocketData } from './fake-gateway.ts';
import { FormErrors } from './form-errors.ts';
import {
  checkMessage,
  type FakeComponent,
  type FakeEmbed,
  type MessageForm,
  type UploadedFile,
} from './message-form.ts';

const EPHEMERAL = 64;
/** https://docs.discord.com/developers/interactions/receiving-and-responding#responding-to-an-interaction */
const ACKNOWLEDGE_WITHIN_MS = 3000;
const TOKEN_LIVES_MS = 15 * 60_000;
const MODERATE_MEMBERS = 1n << 40n;
const SEND_MESSAGES = 1n << 11n;
const VIEW_CHANNEL = 1n << 10n;
const EMBED_LINKS = 1n << 14n;

const CALLBACK = {
  message: 4,
  deferredMessage: 5,
  deferredUpdate: 6,
  update: 7,
  autocomplete: 8,
  modal: 9,
} as const;

export type FakeMessage = {
  id: string;
  channel_id: string;
  content: string;
  embeds: FakeEmbed[];
  components: FakeComponent[];
  attachments: { id: string; filename: string; description?: string; url: string; size: number }[];
  flags: number;
  author: Record<string, unknown>;
  timestamp: string;
  edited_timestamp: string | null;
  tts: boolean;
  mention_everyone: boolean;
  mentions: unknown[];
  mention_roles: string[];
  pinned: boolean;
  type: number;
  interaction_metadata?: {
    id: string;
    type: number;
    user: FakeUser;
    authorizing_integration_owners: Record<string, string>;
  };
  /** What the real message does not carry: for tests. */
  files: UploadedFile[];
  allowedMentions: MessageForm['allowed_mentions'];
};

export type FakeUser = {
  id: string;
  username: string;
  discriminator: string;
  global_name: string | null;
  avatar: string | null;
};

export type Actor = {
  user: FakeUser;
  /** Bits of the member in the channel; `'0'` for none. */
  permissions: string;
  locale: string;
  /** Undefined: in a direct message. */
  guildId: string | undefined;
  guildLocale: string;
  channelId: string;
  /** Bits of the bot in the channel. */
  appPermissions: string;
};

/** All that Discord has seen of one interaction. */
export type Exchange = {
  id: string;
  token: string;
  type: number;
  sentAt: number;
  acknowledgedAt?: number;
  /** Type of the callback. */
  callback?: number;
  choices?: { name: string; value: string }[];
  /** Answer to a command, or the message the component sits on. */
  message?: FakeMessage;
  isDeleted?: boolean;
  followUps: FakeMessage[];
  actor: Actor;
  refusals: { status: number; body: unknown }[];
};

export type Fault = {
  /** Matches `METHOD /path` without the version. */
  matches: RegExp;
  /** How often; by default once. */
  times?: number;
  /** `hang`: the answer never comes. */
  answer: (() => Response) | 'hang';
};

export type FakeDiscord = Awaited<ReturnType<typeof startFakeDiscord>>;

type Options = {
  token?: string;
  guildIds?: readonly string[];
  heartbeatIntervalMs?: number;
  botIsPublic?: boolean;
  /** Keeps no messages and no requests: for soaks. */
  forgets?: boolean;
};

let lastId = 1_300_000_000_000_000_000n;
function nextId(): string {
  lastId += 1n;
  return String(lastId);
}

/** A member without rights, in a guild that speaks English, unless told otherwise. */
export function anActor(values: Partial<Actor> & { isModerator?: boolean; userId?: string } = {}): Actor {
  const { isModerator = false, userId = nextId(), ...rest } = values;
  return {
    user: { id: userId, username: `user${userId}`, discriminator: '0', global_name: null, avatar: null },
    permissions: String(VIEW_CHANNEL | SEND_MESSAGES | (isModerator ? MODERATE_MEMBERS : 0n)),
    locale: 'en-US',
    guildId: '900000000000000001',
    guildLocale: 'en-US',
    channelId: '910000000000000001',
    appPermissions: String(VIEW_CHANNEL | SEND_MESSAGES | EMBED_LINKS),
    ...rest,
  };
}

/**
 * Discord on loopback: REST and gateway on one port, checking what Discord's documentation says it checks.
 * Tests send interactions as users would cause them, and read what came back.
 */
export async function startFakeDiscord({
  token = 'MTIz.fake.token',
  guildIds = ['900000000000000001'],
  heartbeatIntervalMs = 41_250,
  botIsPublic = false,
  forgets = false,
}: Options = {}) {
  const applicationId = '800000000000000001';
  const botUser = {
    id: applicationId,
    username: 'community',
    discriminator: '0',
    bot: true,
    avatar: null,
    global_name: null,
  };
  const exchanges = new Map<string, Exchange>();
  const waiting = new Map<string, (exchange: Exchange) => void>();
  const messages = new Map<string, FakeMessage>();
  const commands = new Map<string, FakeCommand[]>();
  const goneChannels = new Set<string>();
  const goneMessages = new Set<string>();
  const requests: { at: number; method: string; path: string; body: unknown; status: number }[] = [];
  const faults: Fault[] = [];
  const hanging: (() => void)[] = [];
  const state = { token, refusesLocalLinks: true, guildAccess: true, botIsPublic };
  let port = 0;

  const gateway = new FakeGateway({
    token,
    applicationId,
    botUser,
    guildIds,
    heartbeatIntervalMs,
    resumeUrl: () => `ws://127.0.0.1:${port}/gateway`,
  });

  const listen = () =>
    Bun.serve<SocketData>({
      hostname: '127.0.0.1',
      port,
      idleTimeout: 0,
      fetch: async (request, server) => {
        const url = new URL(request.url);
        if (url.pathname.startsWith('/gateway')) {
          return server.upgrade(request, { data: { connectedAt: Date.now() } })
            ? undefined
            : new Response('Upgrade expected', { status: 426 });
        }
        return handle(request, url);
      },
      websocket: {
        open: (socket) => gateway.open(socket),
        message: (socket, text) => gateway.receive(socket, text),
        close: (socket) => gateway.closed(socket),
      },
    });
  let server: ReturnType<typeof listen> | undefined = listen();
  port = server.port ?? 0;

  async function handle(request: Request, url: URL): Promise<Response> {
    const path = decodeURIComponent(url.pathname).replace(/^(\/api)?\/v10/, '');
    const { method } = request;
    const { body, files } = await readBody(request);
    const fault = faults.find(({ matches }) => matches.test(`${method} ${path}`));
    let response: Response | undefined;
    if (fault) {
      fault.times = (fault.times ?? 1) - 1;
      if (fault.times <= 0) faults.splice(faults.indexOf(fault), 1);
      if (fault.answer === 'hang') await new Promise<void>((resolve) => hanging.push(resolve));
      else response = fault.answer();
    }
    response ??= route({
      method,
      path,
      url,
      body,
      files,
      authorization: request.headers.get('authorization'),
    });
    if (!forgets) requests.push({ at: Date.now(), method, path, body, status: response.status });
    return response;
  }

  type Call = {
    method: string;
    path: string;
    url: URL;
    body: Body;
    files: UploadedFile[];
    authorization: string | null;
  };

  function route(call: Call): Response {
    const { method, path } = call;
    const callback = path.match(/^\/interactions\/(\d+)\/([^/]+)\/callback$/);
    if (callback && method === 'POST') return acknowledge(call, callback[1] ?? '', callback[2] ?? '');
    const webhook = path.match(/^\/webhooks\/(\d+)\/([^/]+)(?:\/messages\/([^/]+))?$/);
    if (webhook) return useWebhook(call, webhook[2] ?? '', webhook[3]);
    if (call.authorization !== `Bot ${state.token}`)
      return json(401, { message: '401: Unauthorized', code: 0 });
    if (path === '/gateway/bot') {
      return json(200, {
        url: `ws://127.0.0.1:${port}/gateway`,
        shards: 1,
        session_start_limit: {
          total: 1000,
          remaining: 1000 - gateway.identifies.length,
          reset_after: 86_400_000,
          max_concurrency: 1,
        },
      });
    }
    if (path === '/users/@me') return json(200, botUser);
    if (path === '/applications/@me' || path === '/oauth2/applications/@me') {
      return json(200, { id: applicationId, name: 'community', bot_public: state.botIsPublic, flags: 0 });
    }
    const scope = path.match(/^\/applications\/(\d+)(?:\/guilds\/(\d+))?\/commands$/);
    if (scope) return useCommands(call, scope[1] ?? '', scope[2]);
    const channel = path.match(/^\/channels\/(\d+)\/messages(?:\/(\d+))?$/);
    if (channel) return useChannel(call, channel[1] ?? '', channel[2]);
    return json(404, { message: '404: Not Found', code: 0 });
  }

  function acknowledge(call: Call, id: string, interactionToken: string): Response {
    const exchange = exchanges.get(interactionToken);
    if (!exchange || exchange.id !== id) return json(404, { message: 'Unknown interaction', code: 10062 });
    const refuse = (status: number, body: Record<string, unknown>) => {
      exchange.refusals.push({ status, body });
      return json(status, body);
    };
    if (exchange.callback !== undefined) {
      return refuse(400, { message: 'Interaction has already been acknowledged.', code: 40060 });
    }
    if (Date.now() - exchange.sentAt > ACKNOWLEDGE_WITHIN_MS) {
      return refuse(404, { message: 'Unknown interaction', code: 10062 });
    }
    const type = Number(call.body.type);
    const isComponent = exchange.type === 3;
    const isAutocomplete = exchange.type === 4;
    const allowed: number[] = isAutocomplete
      ? [CALLBACK.autocomplete]
      : isComponent
        ? [4, 5, 6, 7, 9]
        : [CALLBACK.message, CALLBACK.deferredMessage, CALLBACK.modal];
    if (!allowed.includes(type)) {
      const errors = new FormErrors();
      errors.add(
        'type',
        'INTERACTION_APPLICATION_COMMAND_INVALID_RESPONSE',
        `Value must be one of ${allowed}`,
      );
      return refuse(400, errors.body() ?? {});
    }
    const data: MessageForm & { choices?: { name: string; value: string }[] } = call.body.data ?? {};
    if (type === CALLBACK.autocomplete) {
      const complaint = checkChoices(data.choices ?? []);
      if (complaint) return refuse(400, complaint);
      exchange.choices = data.choices ?? [];
    }
    if (type === CALLBACK.message || type === CALLBACK.update) {
      const complaint = checkMessage(data, call.files, {
        refusesLocalLinks: state.refusesLocalLinks,
        isEdit: type === CALLBACK.update,
        prefix: 'data.',
      });
      if (complaint) return refuse(400, complaint);
      exchange.message =
        type === CALLBACK.update && exchange.message
          ? edit(exchange.message, data, call.files)
          : create(exchange.actor.channelId, data, call.files, exchange);
    }
    if (type === CALLBACK.deferredMessage) {
      exchange.message = create(exchange.actor.channelId, { flags: (data.flags ?? 0) | 128 }, [], exchange);
    }
    exchange.callback = type;
    exchange.acknowledgedAt = Date.now();
    waiting.get(interactionToken)?.(exchange);
    waiting.delete(interactionToken);
    if (forgets) exchanges.delete(interactionToken);
    if (call.url.searchParams.get('with_response') !== 'true') return new Response(null, { status: 204 });
    return json(200, {
      interaction: { id, type: exchange.type, response_message_id: exchange.message?.id },
      resource: { type, message: exchange.message },
    });
  }

  function useWebhook(call: Call, interactionToken: string, messageId: string | undefined): Response {
    const exchange = exchanges.get(interactionToken);
    if (!exchange || Date.now() - exchange.sentAt > TOKEN_LIVES_MS) {
      return json(401, { message: 'Invalid Webhook Token', code: 50027 });
    }
    if (exchange.callback === undefined) return json(404, { message: 'Unknown Webhook', code: 10015 });
    const target =
      messageId === undefined || messageId === '@original'
        ? exchange.message
        : [...exchange.followUps, exchange.message].find((message) => message?.id === messageId);
    if (call.method === 'POST') {
      const complaint = checkMessage(call.body, call.files, state);
      if (complaint) return json(400, complaint);
      const isDeferredAnswer =
        !exchange.isDeleted && exchange.message !== undefined && (exchange.message.flags & 128) !== 0;
      const message = create(exchange.actor.channelId, call.body, call.files, exchange);
      // The first follow-up of a deferred answer takes its place, with the visibility it was deferred with.
      if (isDeferredAnswer && exchange.message) {
        message.flags = exchange.message.flags & ~128;
        exchange.message = message;
      } else exchange.followUps.push(message);
      return json(200, message);
    }
    if (!target || exchange.isDeleted) return json(404, { message: 'Unknown Message', code: 10008 });
    if (call.method === 'GET') return json(200, target);
    if (call.method === 'DELETE') {
      exchange.isDeleted = true;
      messages.delete(target.id);
      return new Response(null, { status: 204 });
    }
    const complaint = checkMessage(call.body, call.files, { ...state, isEdit: target.content !== '' });
    if (complaint) return json(400, complaint);
    target.flags &= ~128;
    return json(200, edit(target, call.body, call.files));
  }

  function useCommands(call: Call, application: string, guildId: string | undefined): Response {
    if (application !== applicationId) return json(404, { message: 'Unknown Application', code: 10002 });
    if (guildId !== undefined && (!guildIds.includes(guildId) || !state.guildAccess)) {
      return json(403, { message: 'Missing Access', code: 50001 });
    }
    const scope = guildId ?? 'global';
    if (call.method === 'GET') return json(200, commands.get(scope) ?? []);
    if (call.method !== 'PUT') return json(405, { message: '405: Method Not Allowed', code: 0 });
    const list: FakeCommand[] = Array.isArray(call.body) ? call.body : [];
    const complaint = checkCommands(list, { isGuild: guildId !== undefined });
    if (complaint) return json(400, complaint);
    commands.set(scope, list);
    return json(
      200,
      list.map((command) => ({ ...command, id: nextId(), application_id: applicationId, version: nextId() })),
    );
  }

  function useChannel(call: Call, channelId: string, messageId: string | undefined): Response {
    if (goneChannels.has(channelId)) return json(404, { message: 'Unknown Channel', code: 10003 });
    if (call.method === 'POST') {
      const complaint = checkMessage(call.body, call.files, state);
      return complaint ? json(400, complaint) : json(200, create(channelId, call.body, call.files));
    }
    const message = messages.get(messageId ?? '');
    if (!message || message.channel_id !== channelId || goneMessages.has(message.id)) {
      return json(404, { message: 'Unknown Message', code: 10008 });
    }
    if (call.method === 'GET') return json(200, message);
    if (call.method === 'DELETE') {
      messages.delete(message.id);
      return new Response(null, { status: 204 });
    }
    const complaint = checkMessage(call.body, call.files, { ...state, isEdit: true });
    return complaint ? json(400, complaint) : json(200, edit(message, call.body, call.files));
  }

  function create(
    channelId: string,
    form: MessageForm,
    files: UploadedFile[],
    exchange?: Exchange,
  ): FakeMessage {
    const message: FakeMessage = {
      id: nextId(),
      channel_id: channelId,
      content: form.content ?? '',
      embeds: form.embeds ?? [],
      components: form.components ?? [],
      attachments: toAttachments(form, files),
      flags: form.flags ?? 0,
      author: botUser,
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      tts: false,
      mention_everyone: false,
      mentions: [],
      mention_roles: [],
      pinned: false,
      type: exchange ? 20 : 0,
      files,
      allowedMentions: form.allowed_mentions,
      ...(exchange && {
        interaction_metadata: {
          id: exchange.id,
          type: exchange.type,
          user: exchange.actor.user,
          authorizing_integration_owners: { 0: exchange.actor.guildId ?? '0' },
        },
      }),
    };
    if (!forgets) messages.set(message.id, message);
    return message;
  }

  function edit(message: FakeMessage, form: MessageForm, files: UploadedFile[]): FakeMessage {
    if (form.content !== undefined) message.content = form.content ?? '';
    if (form.embeds !== undefined) message.embeds = form.embeds ?? [];
    if (form.components !== undefined) message.components = form.components ?? [];
    if (form.attachments !== undefined || files.length > 0) {
      const kept = message.attachments.filter(({ id }) =>
        form.attachments?.some((each) => String(each.id) === id),
      );
      message.attachments = [...kept, ...toAttachments(form, files)];
      message.files = files;
    }
    message.allowedMentions = form.allowed_mentions;
    message.edited_timestamp = new Date().toISOString();
    return message;
  }

  function toAttachments(form: MessageForm, files: UploadedFile[]): FakeMessage['attachments'] {
    return files.map((file, index) => {
      const described = form.attachments?.find(({ id }) => String(id) === String(index))?.description;
      if (described !== undefined) file.description = described;
      return {
        id: nextId(),
        filename: file.name,
        url: `https://cdn.discordapp.com/attachments/${file.name}`,
        size: file.bytes.length,
        ...(described !== undefined && { description: described }),
      };
    });
  }

  /** Sends one interaction; resolves when it was acknowledged, or after 3 s unanswered. */
  function interact(type: number, data: unknown, actor: Actor, message?: FakeMessage): Promise<Exchange> {
    const exchange: Exchange = {
      id: nextId(),
      token: `token-${nextId()}`,
      type,
      sentAt: Date.now(),
      followUps: [],
      actor,
      refusals: [],
      ...(message && { message }),
    };
    exchanges.set(exchange.token, exchange);
    const member = {
      user: actor.user,
      permissions: actor.permissions,
      roles: [],
      joined_at: '2024-01-01T00:00:00.000000+00:00',
      deaf: false,
      mute: false,
      flags: 0,
      nick: null,
      avatar: null,
    };
    const isInGuild = actor.guildId !== undefined;
    const answered = new Promise<Exchange>((resolve) => {
      const timer = setTimeout(() => {
        waiting.delete(exchange.token);
        resolve(exchange);
      }, ACKNOWLEDGE_WITHIN_MS + 200);
      waiting.set(exchange.token, (done) => {
        clearTimeout(timer);
        resolve(done);
      });
    });
    gateway.dispatch('INTERACTION_CREATE', {
      id: exchange.id,
      application_id: applicationId,
      type,
      data,
      token: exchange.token,
      version: 1,
      channel_id: actor.channelId,
      channel: isInGuild
        ? {
            id: actor.channelId,
            type: 0,
            name: 'general',
            guild_id: actor.guildId,
            permissions: actor.permissions,
          }
        : { id: actor.channelId, type: 1, recipients: [actor.user] },
      app_permissions: actor.appPermissions,
      locale: actor.locale,
      entitlements: [],
      authorizing_integration_owners: { 0: actor.guildId ?? '0' },
      context: isInGuild ? 0 : 1,
      attachment_size_limit: 10_485_760,
      ...(isInGuild
        ? {
            guild_id: actor.guildId,
            guild: { id: actor.guildId, locale: actor.guildLocale, features: [] },
            guild_locale: actor.guildLocale,
            member,
          }
        : { user: actor.user }),
      ...(message && { message: toWire(message) }),
    });
    return answered;
  }

  return {
    apiUrl: `http://127.0.0.1:${port}`,
    token,
    applicationId,
    gateway,
    commands,
    messages,
    requests,
    goneChannels,
    goneMessages,
    state,
    /** Adds a fault to the requests to come. */
    fail: (fault: Fault) => void faults.push(fault),
    clearFaults: () => {
      faults.length = 0;
      for (const release of hanging.splice(0)) release();
    },
    interact,
    /** A slash command; options by name. A Discord user is given by `{ user }`. */
    command: (name: string, options: Record<string, OptionValue> = {}, actor = anActor()) =>
      interact(2, commandData(name, options), actor),
    /** An entry of the user context menu. */
    userMenu: (name: string, target: FakeUser, actor = anActor()) =>
      interact(
        2,
        { id: nextId(), name, type: 2, target_id: target.id, resolved: { users: { [target.id]: target } } },
        actor,
      ),
    autocomplete: (name: string, option: string, typed: string, actor = anActor()) =>
      interact(
        4,
        { id: nextId(), name, type: 1, options: [{ type: 3, name: option, value: typed, focused: true }] },
        actor,
      ),
    /** Presses a button of a message; Discord knows no other custom ids, unless `forged`. */
    press: (message: FakeMessage, customId: string, actor: Actor, { forged = false } = {}) => {
      if (!forged) requireComponent(message, customId);
      return interact(3, { component_type: 2, custom_id: customId }, actor, message);
    },
    select: (
      message: FakeMessage,
      customId: string,
      values: string[],
      actor: Actor,
      { forged = false } = {},
    ) => {
      if (!forged) {
        const menu = requireComponent(message, customId);
        const unknown = values.find((value) => !menu.options?.some((option) => option.value === value));
        if (unknown !== undefined) throw new Error(`${customId} has no option ${unknown}`);
      }
      return interact(3, { component_type: 3, custom_id: customId, values }, actor, message);
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
    stop: async () => {
      for (const release of hanging.splice(0)) release();
      gateway.close(1000);
      await server?.stop(true);
      server = undefined;
    },
  };
}

export type OptionValue = string | boolean | number | { user: FakeUser };

function commandData(name: string, options: Record<string, OptionValue>) {
  const users: Record<string, FakeUser> = {};
  const list = Object.entries(options).map(([option, value]) => {
    if (typeof value === 'string') return { type: 3, name: option, value };
    if (typeof value === 'boolean') return { type: 5, name: option, value };
    if (typeof value === 'number') return { type: 4, name: option, value };
    users[value.user.id] = value.user;
    return { type: 6, name: option, value: value.user.id };
  });
  return { id: nextId(), name, type: 1, options: list, resolved: { users } };
}

/** The component of a message that carries a custom id. */
export function findComponent(
  message: FakeMessage | undefined,
  customId: string | RegExp,
): FakeComponent | undefined {
  return message?.components
    .flatMap((row) => row.components ?? [])
    .find(({ custom_id: id }) =>
      id === undefined ? false : typeof customId === 'string' ? id === customId : customId.test(id),
    );
}

/** The button with a label. */
export function findButton(message: FakeMessage | undefined, label: string): FakeComponent | undefined {
  return message?.components.flatMap((row) => row.components ?? []).find((child) => child.label === label);
}

function requireComponent(message: FakeMessage, customId: string): FakeComponent {
  const component = findComponent(message, customId);
  if (!component || component.disabled) throw new Error(`the message has no enabled component ${customId}`);
  return component;
}

/** Whether only the one who asked sees it. */
export function isEphemeral(message: FakeMessage | undefined): boolean {
  return message !== undefined && (message.flags & EPHEMERAL) !== 0;
}

function toWire({ files: _files, allowedMentions: _allowed, ...message }: FakeMessage) {
  return message;
}

function checkChoices(choices: { name: string; value: string }[]): Record<string, unknown> | undefined {
  const errors = new FormErrors();
  errors.count('data.choices', choices, { max: 25 });
  for (const [index, { name, value }] of choices.entries()) {
    errors.text(`data.choices.${index}.name`, name, { max: 100 });
    errors.text(`data.choices.${index}.value`, value, { max: 100 });
  }
  return errors.body();
}

type Body = MessageForm & { type?: number; data?: MessageForm };

async function readBody(request: Request): Promise<{ body: Body; files: UploadedFile[] }> {
  const type = request.headers.get('content-type') ?? '';
  if (type.startsWith('multipart/form-data')) {
    const form = await request.formData();
    const files: UploadedFile[] = [];
    for (const [name, part] of form.entries()) {
      if (typeof part === 'string' || !/^files\[\d+\]$/.test(name)) continue;
      files.push({ name: part.name, bytes: new Uint8Array(await part.arrayBuffer()) });
    }
    const payload = form.get('payload_json');
    const body: Body = JSON.parse(typeof payload === 'string' ? payload : '{}');
    // In a callback the attachments sit under `data`.
    return { body, files };
  }
  const text = await request.text();
  const body: Body = text === '' ? {} : JSON.parse(text);
  return { body, files: [] };
}

function json(status: number, body: unknown): Response {
  return Response.json(body, { status });
}
