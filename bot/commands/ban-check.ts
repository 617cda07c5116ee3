import {
  ApplicationCommandType,
  ContextMenuCommandBuilder,
  SlashCommandBuilder,
  userMention,
} from 'discord.js';
import { DEFAULT_LANGUAGE } from '../../src/domain/language.ts';
import { findPanelUrl } from '../../src/domain/panel.ts';
import { findLead, knownEnd, serverNameOf } from '../../src/domain/penalty.ts';
import { type SteamId64, tryParseSteamId } from '../../src/domain/steam-id.ts';
import { hasVisibleCharacter } from '../../src/domain/text/visible-text.ts';
import { loadPlayerRecord, type RecordedPenalty } from '../../src/queries/penalties/player-record.ts';
import { findUserByDiscordId, findUserBySteamId, type User } from '../../src/queries/users/users.ts';
import { withTimeLimit } from '../../src/runtime/time-limit.ts';
import { tryParsePositive } from '../embeds/custom-id.ts';
import type { MessageView } from '../embeds/message-view.ts';
import {
  PENALTIES_PER_PAGE,
  type RecordFilter,
  readFilter,
  recordMessage,
  type SteamBansView,
} from '../embeds/player-record.ts';
import { Refusal } from '../embeds/refusal.ts';
import type { LinkReader } from '../embeds/site-pages.ts';
import { MODERATOR_PERMISSION } from '../gateway/moderators.ts';
import { BOT_TEXTS, localizationsOf, localized } from '../locales/localization.ts';
import type { Command, CommandDeps, CommandResponse, ComponentPress, Invoker } from './command.ts';
import {
  completePlayer,
  moderateMembersRequired,
  type PersonCommand,
  repeatForCandidate,
  requireMaySee,
  requireOwnSteamId,
  resolveSteamOptions,
  respondAboutPerson,
  showsDiscord,
} from './subject.ts';

/** How long a message waits for Steam. A response that comes later is cached for the next command. */
const STEAM_WITHIN_MS = 700;

/**
 * `/ban-check steamid? user? player? show?`: the invoker's own record; for moderators anyone's. It has no default
 * permission, since everyone may use it.
 */
export const banCheckCommand: Command = {
  define: () =>
    localized(new SlashCommandBuilder(), ({ banCheck }) => banCheck)
      .addStringOption((option) => localized(option, ({ banCheck }) => banCheck.options.steamid))
      .addUserOption((option) => localized(option, ({ banCheck }) => banCheck.options.user))
      .addStringOption((option) =>
        localized(option, ({ banCheck }) => banCheck.options.player).setAutocomplete(true),
      )
      .addBooleanOption((option) => localized(option, ({ banCheck }) => banCheck.options.show))
      .toJSON(),
  execute: (deps, invoker, options) =>
    respondAboutPerson('ban-check', { invoker, options }, async (command) => {
      const subject = await resolveSubject(deps, command);
      return renderRecord(deps, subject, { invoker, isPublic: command.kind === 'public', page: 1 });
    }),
  autocomplete: (deps, invoker, { text }) => completePlayer(deps, invoker, text),
  components: {
    'record.page': (deps, invoker, press) => {
      const [, steamId, page, type, status] = press.args;
      return updateRecord(deps, invoker, press, { steamId, page, ...readFilter(type, status) });
    },
    'record.type': (deps, invoker, press) => {
      const [steamId, , status] = press.args;
      return updateRecord(deps, invoker, press, { steamId, ...readFilter(press.values[0], status) });
    },
    'record.status': (deps, invoker, press) => {
      const [steamId, type] = press.args;
      return updateRecord(deps, invoker, press, { steamId, ...readFilter(type, press.values[0]) });
    },
    'record.open': (deps, invoker, { args: [steamId] }) => ({
      kind: 'ephemeral',
      render: () => renderState(deps, invoker, { steamId }, { isPublic: false }),
    }),
    'ban-check.player': repeatForCandidate((...command) => banCheckCommand.execute(...command)),
  },
};

/** "Check bans" in the user context menu: the record of the linked player. */
export const checkBansCommand: Command = {
  define: () =>
    new ContextMenuCommandBuilder()
      .setType(ApplicationCommandType.User)
      .setName(BOT_TEXTS[DEFAULT_LANGUAGE].commands.checkBans.name)
      .setNameLocalizations(localizationsOf(({ commands }) => commands.checkBans.name))
      .setDefaultMemberPermissions(MODERATOR_PERMISSION)
      .toJSON(),
  execute: (...command) => banCheckCommand.execute(...command),
};

/**
 * The player whose record is requested. A Discord user takes precedence over a SteamID, as in the API's lookup, and a
 * SteamID over a nickname.
 * @throws {Refusal} when there is none, or when the invoker may not see it.
 */
async function resolveSubject(deps: CommandDeps, command: PersonCommand): Promise<SteamId64> {
  const { invoker, options, kind } = command;
  const discordId = options.user;
  if (discordId !== undefined && discordId !== invoker.discordId) {
    if (!invoker.canModerateMembers) throw moderateMembersRequired(invoker);
    const user = await findUserByDiscordId(deps.db, discordId);
    if (user && showsDiscord(user, invoker, kind)) return user.steamId64;
    throw new Refusal(({ refusals }) => refusals.notLinkedUser(userMention(discordId)));
  }
  const subject = discordId === undefined ? await resolveSteamOptions(deps, command) : undefined;
  return subject ?? requireOwnSteamId(deps, invoker);
}

/** The state in a `custom_id`, which can be forged. */
type State = RecordFilter & { steamId: string | undefined; page?: string | undefined };

function updateRecord(
  deps: CommandDeps,
  invoker: Invoker,
  { messageOwnerId, isEphemeral }: ComponentPress,
  state: State,
): CommandResponse {
  return {
    kind: 'update',
    render: () => {
      const isOwn = messageOwnerId === undefined || messageOwnerId === invoker.discordId;
      if (!isOwn) throw new Refusal(({ refusals }) => refusals.notYours);
      return renderState(deps, invoker, state, { isPublic: !isEphemeral });
    },
  };
}

/** Checks each press again: an invoker may no longer be a moderator. */
async function renderState(
  deps: CommandDeps,
  invoker: Invoker,
  { steamId, page, ...filter }: State,
  { isPublic }: { isPublic: boolean },
): Promise<MessageView> {
  const subject = tryParseSteamId(steamId ?? '');
  if (subject === undefined) throw new Refusal(({ refusals }) => refusals.outdated);
  await requireMaySee(deps, invoker, subject);
  return renderRecord(deps, subject, { invoker, isPublic, page: tryParsePositive(page) ?? 1, ...filter });
}

/** A page of a player's record. The caller has checked that the invoker may see it. */
export async function renderRecord(
  deps: CommandDeps,
  steamId: SteamId64,
  {
    invoker,
    isPublic,
    page,
    ...filter
  }: RecordFilter & { invoker: Invoker; isPublic: boolean; page: number },
): Promise<MessageView> {
  const now = deps.now();
  const [{ rows, activeRows, ...record }, user, steamBans] = await Promise.all([
    loadPlayerRecord(deps.db, steamId, { ...filter, page, perPage: PENALTIES_PER_PAGE, now }),
    findUserBySteamId(deps.db, steamId),
    loadSteamBans(deps, steamId),
  ]);
  const names = [user?.nickname ?? '', record.playerName ?? ''];
  const playerName = names.find(hasVisibleCharacter) ?? steamId;
  const isMember = user !== undefined;
  const showsPanels = invoker.canModerateMembers && !isPublic;
  const toView = (penalty: RecordedPenalty) => ({
    ...penalty,
    panelUrl: showsPanels ? findPanelUrl(deps.panels, penalty) : undefined,
    serverName: serverNameOf(penalty),
    endsAt: knownEnd(penalty, now),
  });
  const lead = findLead(activeRows.map(toView));
  const penalties = rows.map(toView);
  const view = { ...record, steamId, playerName, isMember, filter, steamBans, lead, penalties };
  return recordMessage(view, {
    texts: (isPublic ? invoker.guildLocalization : invoker.localization).texts,
    pages: deps.pages,
    reader: readerOf(invoker, user, isPublic),
    appealUrl: deps.appealUrl,
  });
}

/**
 * Loads Steam's bans for a message. Never rejects.
 * @returns `unknown` when Steam does not respond in time; undefined without `STEAM_API_KEY`.
 */
export async function loadSteamBans(
  { lookUpSteamBans }: CommandDeps,
  steamId64: SteamId64,
): Promise<SteamBansView | undefined> {
  if (!lookUpSteamBans) return undefined;
  const bans = await withTimeLimit(lookUpSteamBans(steamId64), STEAM_WITHIN_MS).catch(() => undefined);
  return bans ?? 'unknown';
}

/** Who follows the links of a message about a player. @param user undefined: the player has no account. */
export function readerOf(
  { discordId }: Invoker,
  user: Pick<User, 'discordId'> | undefined,
  isPublic: boolean,
): LinkReader {
  if (isPublic) return 'everyone';
  return user?.discordId === discordId ? 'player' : 'moderators';
}
