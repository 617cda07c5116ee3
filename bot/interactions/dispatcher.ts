import { randomBytes } from 'node:crypto';
import type { AutocompleteInteraction, Interaction } from 'discord.js';
import type { Logger } from 'pino';
import { isDatabaseOutage } from '../../src/db/client.ts';
import { Unavailable } from '../../src/domain/errors.ts';
import { asRequest, REQUEST_LIMIT_MS } from '../../src/runtime/request.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../src/runtime/time-limit.ts';
import type { CommandDeps, CommandResponse, Invoker } from '../commands/command.ts';
import { COMMANDS } from '../commands/commands.ts';
import type { BotContext } from '../context.ts';
import { COLOURS, type MessageView, noticeMessage } from '../embeds/message-view.ts';
import { Refusal } from '../embeds/refusal.ts';
import { relativeTime } from '../embeds/text.ts';
import type { ModeratorRule } from '../gateway/moderators.ts';
import type { InteractionPlace } from '../gateway/session.ts';
import type { Texts } from '../locales/en.ts';
import type { Cooldown } from './cooldown.ts';
import { defer, deliver, isInteractionOver, notify } from './delivery.ts';
import {
  type DeferrableInteraction,
  nameOf,
  toCommandOptions,
  toComponentPress,
  toInvoker,
} from './interaction.ts';
import type { InteractionOutcome } from './outcome.ts';

type DispatcherDeps = BotContext & {
  commandDeps: CommandDeps;
  cooldown: Cooldown;
  /** In which guilds Discord's permissions make moderators. */
  moderators: Pick<ModeratorRule, 'holdsIn' | 'objection' | 'settled'>;
  countInteraction: (outcome: InteractionOutcome) => void;
};

/** Where and when an interaction was received. */
type Receipt = InteractionPlace & {
  /** In milliseconds of `performance.now()`. */
  receivedAtMs: number;
};

/** Gives every interaction exactly one response, even when its handler fails. */
type Dispatcher = {
  /** Responds in the background; never throws. */
  dispatch: (interaction: Interaction, place: InteractionPlace) => void;
  /** Waits for the responses under way. */
  drain: () => Promise<void>;
};

/** How long suggestions may take, from the receipt: they cannot be deferred, and Discord waits 3000 ms. */
const SUGGEST_LIMIT_MS = 2000;
/** How long a response may take that sends messages; Discord would wait 15 minutes. */
const SEND_LIMIT_MS = 60_000;

/** Creates a dispatcher; it finds commands by the name they are registered under. */
export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { commandDeps, log, now } = deps;
  const commands = new Map(COMMANDS.map((command) => [command.define().name, command]));
  const components = new Map(COMMANDS.flatMap((command) => Object.entries(command.components ?? {})));
  const running = new Set<Promise<void>>();

  /** Never rejects. */
  async function handle(interaction: Interaction, receipt: Receipt): Promise<void> {
    try {
      if (interaction.isAutocomplete()) {
        deps.countInteraction(await suggest(interaction, receipt));
      } else if (
        interaction.isChatInputCommand() ||
        interaction.isUserContextMenuCommand() ||
        interaction.isButton() ||
        interaction.isStringSelectMenu()
      ) {
        deps.countInteraction(await respond(interaction, receipt));
      }
    } catch (error) {
      deps.countInteraction('undelivered');
      log.warn(
        { err: error, interaction: interaction.id },
        'the response to an interaction could not be delivered',
      );
    }
  }

  async function suggest(
    interaction: AutocompleteInteraction,
    receipt: Receipt,
  ): Promise<InteractionOutcome> {
    const command = commands.get(interaction.commandName);
    const { name, value } = interaction.options.getFocused(true);
    const invoker = toInvoker(interaction, deps, receipt);
    const subcommand = interaction.options.getSubcommand(false) ?? undefined;
    const typed = { text: String(value), option: name, subcommand };
    const load = async () => command?.autocomplete?.(commandDeps, invoker, typed) ?? [];
    const limit = { limitMs: SUGGEST_LIMIT_MS, sinceMs: receipt.receivedAtMs };
    const loading = asRequest(ownerOf(interaction), load, limit);
    const choices = await withTimeLimit(loading, remainingMs(SUGGEST_LIMIT_MS, receipt)).catch((error) => {
      // The command works without suggestions, and reports errors itself.
      log.warn({ err: error, interaction: interaction.commandName }, 'suggestions could not be loaded');
      return undefined;
    });
    await interaction.respond(choices ?? []);
    return choices ? 'completed' : 'failed';
  }

  function run(interaction: DeferrableInteraction, invoker: Invoker, receipt: Receipt): CommandResponse {
    const name = nameOf(interaction);
    const response = interaction.isCommand()
      ? commands.get(name)?.execute(commandDeps, invoker, toCommandOptions(interaction, receipt))
      : components.get(name)?.(commandDeps, invoker, toComponentPress(interaction));
    return response ?? OUTDATED;
  }

  async function respond(interaction: DeferrableInteraction, receipt: Receipt): Promise<InteractionOutcome> {
    await deps.moderators.settled();
    const invoker = toInvoker(interaction, deps, receipt);
    const { texts } = invoker.localization;
    const wait = deps.cooldown.take(invoker.discordId);
    if (wait) {
      const retryAtMs = now().getTime() + wait.retryInMs;
      const when = relativeTime(new Date(Math.ceil(retryAtMs / 1000) * 1000));
      await notify(interaction, noticeMessage(texts.refusals.tooFast(when)), 'ephemeral');
      return 'rate_limited';
    }
    let kind: CommandResponse['kind'] = 'ephemeral';
    try {
      const response = run(interaction, invoker, receipt);
      kind = response.kind;
      await deliver(interaction, await renderInTime(interaction, receipt, response), kind);
      return 'completed';
    } catch (error) {
      if (isInteractionOver(error)) throw error;
      const isRefusal = error instanceof Refusal;
      const notice = isRefusal
        ? error.explain(texts, deps.mention)
        : failureNotice(error, { name: nameOf(interaction), texts, log });
      const view = typeof notice === 'string' ? noticeMessage(notice) : notice;
      await notify(interaction, view, kind);
      return isRefusal ? 'refused' : 'failed';
    }
  }

  /** Renders a response; defers it if rendering takes too long. */
  async function renderInTime(
    interaction: DeferrableInteraction,
    receipt: Receipt,
    { kind, sendsMessages, render }: CommandResponse,
  ): Promise<MessageView> {
    const rendering = asRequest(ownerOf(interaction), async () => render(), {
      limitMs: sendsMessages ? SEND_LIMIT_MS : REQUEST_LIMIT_MS,
      sinceMs: receipt.receivedAtMs,
    });
    try {
      return await withTimeLimit(rendering, remainingMs(deps.timings.deferAfterMs, receipt));
    } catch (error) {
      if (!(error instanceof TimeLimitExceeded)) throw error;
    }
    await defer(interaction, kind);
    return withTimeLimit(rendering, remainingMs(SEND_LIMIT_MS, receipt));
  }

  return {
    dispatch: (interaction, place) => {
      const receipt = { ...place, receivedAtMs: performance.now() };
      const work: Promise<void> = handle(interaction, receipt).finally(() => running.delete(work));
      running.add(work);
    },
    drain: async () => {
      await Promise.allSettled(running);
    },
  };
}

/** On whose behalf the database is used. */
function ownerOf({ user }: Interaction): string {
  return `discord ${user.id}`;
}

/** The rest of a limit that counts from the receipt, so that waits before the handler are part of it. */
function remainingMs(limitMs: number, { receivedAtMs }: Receipt): number {
  return Math.max(0, limitMs - (performance.now() - receivedAtMs));
}

/** The response to a command or component of an earlier version. */
const OUTDATED: CommandResponse = {
  kind: 'ephemeral',
  render: () => {
    throw new Refusal(({ refusals }) => refusals.outdated);
  },
};

/**
 * The message to the invoker when a response failed: an apology and an error id, which is also in the log. The message
 * reveals nothing of the error itself.
 * @param name the command or component, for the log.
 */
function failureNotice(
  error: unknown,
  { name, texts: { refusals }, log }: { name: string; texts: Texts; log: Logger },
): MessageView {
  const errorId = randomBytes(4).toString('hex');
  const fields = { err: error, errorId, interaction: name };
  if (error instanceof Unavailable || error instanceof TimeLimitExceeded || isDatabaseOutage(error)) {
    log.warn(fields, 'a response needs the database or a service that is unreachable or busy');
    return noticeMessage(refusals.unavailable(errorId), COLOURS.danger);
  }
  log.error(fields, 'a response failed');
  return noticeMessage(refusals.failed(errorId), COLOURS.danger);
}
