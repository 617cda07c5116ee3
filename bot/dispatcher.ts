import { randomBytes } from 'node:crypto';
import {
  AttachmentBuilder,
  type AutocompleteInteraction,
  type ButtonInteraction,
  type ChatInputCommandInteraction,
  type Interaction,
  MessageFlags,
  PermissionFlagsBits,
  RESTJSONErrorCodes,
  type StringSelectMenuInteraction,
  type UserContextMenuCommandInteraction,
} from 'discord.js';
import type { Logger } from 'pino';
import { isDatabaseOutage } from '../src/db/client.ts';
import { Unavailable } from '../src/errors.ts';
import { TimeLimitExceeded, withTimeLimit } from '../src/time-limit.ts';
import {
  type Command,
  type CommandOptions,
  type CommandResponse,
  type ComponentPress,
  type Components,
  type Invoker,
  Refusal,
} from './command.ts';
import type { Cooldown } from './cooldown.ts';
import { parseCustomId } from './custom-id.ts';
import { isDiscordError } from './discord-error.ts';
import { COLOURS, type MessageView, noticeMessage, withoutLinks } from './embeds/message.ts';
import { LIMITS } from './limits.ts';
import { localizationOf } from './locales/localization.ts';
import { relativeTime } from './text.ts';

type CommandInteraction = ChatInputCommandInteraction | UserContextMenuCommandInteraction;
type ComponentInteraction = ButtonInteraction | StringSelectMenuInteraction;
type Answerable = CommandInteraction | ComponentInteraction;

export type DispatcherDeps = {
  commands: readonly Command[];
  components: Components;
  cooldown: Cooldown;
  log: Logger;
  /** Moderators are recognised in this guild alone; undefined: in every guild the bot is in. */
  homeGuildId: string | undefined;
  now: () => Date;
  /** An answer that takes longer is acknowledged first; Discord waits 3000. */
  deferAfterMs: number;
};

/** How interactions ended, since the start. */
export type DispatchCounts = {
  answered: number;
  refused: number;
  tooFast: number;
  failed: number;
  /** Discord did not take our answer: too late, or out of reach. */
  undelivered: number;
};

/** A query that takes longer than this is given up. */
const RENDER_TIMEOUT_MS = 60_000;

/** Takes every interaction from Discord to one answer, whatever happens on the way. */
export function createDispatcher(deps: DispatcherDeps) {
  const { log, now } = deps;
  const commands = new Map(deps.commands.map((command) => [command.data.name, command]));
  const counts: DispatchCounts = { answered: 0, refused: 0, tooFast: 0, failed: 0, undelivered: 0 };
  const running = new Set<Promise<void>>();
  let refusesOurLinks = false;

  /** Never rejects. */
  async function handle(interaction: Interaction): Promise<void> {
    try {
      if (interaction.isAutocomplete()) await suggest(interaction);
      else if (interaction.isChatInputCommand() || interaction.isUserContextMenuCommand()) {
        await answer(interaction, planCommand(interaction));
      } else if (interaction.isButton() || interaction.isStringSelectMenu()) {
        await answer(interaction, planComponent(interaction));
      }
    } catch (error) {
      counts.undelivered += 1;
      log.warn({ err: error, interaction: interaction.id }, 'an interaction got no answer');
    }
  }

  function planCommand(interaction: CommandInteraction) {
    const command = commands.get(interaction.commandName);
    return (invoker: Invoker): CommandResponse =>
      command?.execute(invoker, readOptions(interaction)) ?? outdated();
  }

  function planComponent(interaction: ComponentInteraction) {
    const { name, args } = parseCustomId(interaction.customId);
    const component = Object.hasOwn(deps.components, name) ? deps.components[name] : undefined;
    const press: ComponentPress = {
      args,
      values: interaction.isStringSelectMenu() ? interaction.values : [],
      messageOwnerId: interaction.message.interactionMetadata?.user.id,
      isEphemeral: interaction.message.flags?.has(MessageFlags.Ephemeral) ?? false,
    };
    return (invoker: Invoker): CommandResponse => component?.(invoker, press) ?? outdated();
  }

  async function suggest(interaction: AutocompleteInteraction): Promise<void> {
    const invoker = toInvoker(interaction, deps.homeGuildId);
    const command = commands.get(interaction.commandName);
    const choices = command?.autocomplete?.(invoker, String(interaction.options.getFocused())) ?? [];
    await interaction.respond(choices);
    counts.answered += 1;
  }

  async function answer(interaction: Answerable, plan: (invoker: Invoker) => CommandResponse): Promise<void> {
    const invoker = toInvoker(interaction, deps.homeGuildId);
    const wait = deps.cooldown.take(invoker.discordId, now().getTime());
    if (wait) {
      const when = relativeTime(new Date(Math.ceil(wait.retryAtMs / 1000) * 1000));
      await tell(interaction, noticeMessage(invoker.localization.texts.refusals.tooFast(when)), undefined);
      counts.tooFast += 1;
      return;
    }
    let kind: CommandResponse['kind'] | undefined;
    try {
      const planned = plan(invoker);
      kind = planned.kind;
      const view = await renderInTime(interaction, planned);
      await deliver(interaction, view, planned.kind);
      counts.answered += 1;
    } catch (error) {
      if (isLost(error)) throw error;
      await tell(interaction, toNotice(error, interaction, invoker), kind);
    }
  }

  /** Renders; acknowledges first when that takes long. */
  async function renderInTime(
    interaction: Answerable,
    { kind, render }: CommandResponse,
  ): Promise<MessageView> {
    const rendering = Promise.try(render);
    try {
      return await withTimeLimit(rendering, deps.deferAfterMs);
    } catch (error) {
      if (!(error instanceof TimeLimitExceeded)) throw error;
    }
    await defer(interaction, kind);
    return withTimeLimit(rendering, RENDER_TIMEOUT_MS);
  }

  async function deliver(
    interaction: Answerable,
    view: MessageView,
    kind: CommandResponse['kind'],
  ): Promise<void> {
    const shown = refusesOurLinks ? withoutLinks(view) : view;
    try {
      await send(interaction, shown, kind);
    } catch (error) {
      if (!isLinkRefusal(error) || refusesOurLinks) throw error;
      refusesOurLinks = true;
      log.warn(
        { err: error },
        'Discord refuses our links: set PUBLIC_URL to an address it accepts; buttons with links are left out',
      );
      await send(interaction, withoutLinks(view), kind);
    }
  }

  /** Tells the invoker alone, whatever was acknowledged before. */
  async function tell(
    interaction: Answerable,
    view: MessageView,
    kind: CommandResponse['kind'] | undefined,
  ): Promise<void> {
    if (!interaction.deferred && !interaction.replied) return deliver(interaction, view, 'ephemeral');
    if (kind === 'ephemeral') return deliver(interaction, view, kind);
    // Deferred for all to see: an apology is for one.
    if (kind === 'public') await interaction.deleteReply();
    await interaction.followUp({ ...toPayload(view), flags: MessageFlags.Ephemeral });
  }

  function toNotice(error: unknown, interaction: Answerable, { localization }: Invoker): MessageView {
    if (error instanceof Refusal) {
      counts.refused += 1;
      return error.explain(localization.texts);
    }
    counts.failed += 1;
    const errorId = randomBytes(4).toString('hex');
    const context = { err: error, errorId, interaction: nameOf(interaction) };
    const { refusals } = localization.texts;
    const isOutOfReach =
      error instanceof Unavailable || error instanceof TimeLimitExceeded || isDatabaseOutage(error);
    if (isOutOfReach) {
      log.warn(context, 'an interaction needs what is out of reach');
      return noticeMessage(refusals.unavailable(errorId), COLOURS.danger);
    }
    log.error(context, 'an interaction failed');
    return noticeMessage(refusals.failed(errorId), COLOURS.danger);
  }

  return {
    counts,
    /** Answers in the background; never throws. */
    dispatch: (interaction: Interaction): void => {
      const work: Promise<void> = handle(interaction).finally(() => running.delete(work));
      running.add(work);
    },
    /** Waits for the answers under way. */
    drain: async (): Promise<void> => {
      await Promise.allSettled(running);
    },
  };
}

async function defer(interaction: Answerable, kind: CommandResponse['kind']): Promise<void> {
  if (kind === 'update' && interaction.isMessageComponent()) await interaction.deferUpdate();
  else await interaction.deferReply(kind === 'public' ? {} : { flags: MessageFlags.Ephemeral });
}

async function send(
  interaction: Answerable,
  view: MessageView,
  kind: CommandResponse['kind'],
): Promise<void> {
  const payload = toPayload(view);
  // `attachments: []` takes the old chart away from a message that is changed.
  if (interaction.deferred) await interaction.editReply({ ...payload, attachments: [] });
  else if (kind === 'update' && interaction.isMessageComponent())
    await interaction.update({ ...payload, attachments: [] });
  else await interaction.reply(kind === 'public' ? payload : { ...payload, flags: MessageFlags.Ephemeral });
}

function toPayload({ embeds, components, files = [] }: MessageView) {
  return {
    embeds,
    components,
    files: files.map(
      ({ name, bytes, altText }) =>
        new AttachmentBuilder(Buffer.from(bytes), {
          name,
          description: altText.slice(0, LIMITS.attachmentDescription),
        }),
    ),
    allowedMentions: { parse: [] },
  };
}

/** Who asks, by what Discord itself says in this interaction. */
function toInvoker(
  interaction: Answerable | AutocompleteInteraction,
  homeGuildId: string | undefined,
): Invoker {
  const { user, guildId, memberPermissions, locale, guildLocale, appPermissions } = interaction;
  const isAtHome = guildId !== null && (homeGuildId === undefined || guildId === homeGuildId);
  const sending = interaction.channel?.isThread()
    ? PermissionFlagsBits.SendMessagesInThreads
    : PermissionFlagsBits.SendMessages;
  return {
    discordId: user.id,
    canModerateMembers: isAtHome && (memberPermissions?.has(PermissionFlagsBits.ModerateMembers) ?? false),
    guildId: guildId ?? undefined,
    channelId: interaction.channelId ?? '',
    botCanPost: appPermissions.has([
      PermissionFlagsBits.ViewChannel,
      sending,
      PermissionFlagsBits.EmbedLinks,
    ]),
    localization: localizationOf(locale),
    guildLocalization: localizationOf(guildLocale ?? locale),
  };
}

function readOptions(interaction: CommandInteraction): CommandOptions {
  const options = { strings: {}, booleans: {}, users: {} } satisfies CommandOptions;
  const { strings, booleans, users }: Mutable = options;
  if (interaction.isUserContextMenuCommand()) return { ...options, users: { user: interaction.targetId } };
  for (const { name, value, user } of interaction.options.data) {
    if (user) users[name] = user.id;
    else if (typeof value === 'string') strings[name] = value;
    else if (typeof value === 'boolean') booleans[name] = value;
  }
  return options;
}

type Mutable = {
  strings: Record<string, string>;
  booleans: Record<string, boolean>;
  users: Record<string, string>;
};

function outdated(): CommandResponse {
  return {
    kind: 'ephemeral',
    render: () => {
      throw new Refusal(({ refusals }) => noticeMessage(refusals.outdated));
    },
  };
}

/** Discord has given this interaction up, or had an answer already: nothing more can be said. */
function isLost(error: unknown): boolean {
  return isDiscordError(
    error,
    RESTJSONErrorCodes.UnknownInteraction,
    RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged,
  );
}

function isLinkRefusal(error: unknown): boolean {
  return (
    isDiscordError(error, RESTJSONErrorCodes.InvalidFormBodyOrContentType) &&
    JSON.stringify(error.rawError).includes('URL_TYPE')
  );
}

function nameOf(interaction: Answerable): string {
  return interaction.isCommand() ? interaction.commandName : parseCustomId(interaction.customId).name;
}
