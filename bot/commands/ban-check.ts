import { ApplicationCommandType, userMention } from 'discord.js';
import { DEFAULT_LANGUAGE } from '../../src/domain/language.ts';
import { knownEnd, serverNameOf } from '../../src/domain/penalty.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { hasVisibleCharacter } from '../../src/domain/text/visible-text.ts';
import {
  loadPlayerRecord,
  type PlayerRecord,
  type RecordedPenalty,
} from '../../src/queries/penalties/player-record.ts';
import { findUserByDiscordId, findUserBySteamId } from '../../src/queries/users/users.ts';
import { type Command, type Invoker, Refusal } from '../command.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import { PENALTIES_PER_PAGE, recordMessage } from '../embeds/player-record.ts';
import { findLead, type RecordFilter, type RecordView } from '../embeds/player-record-view.ts';
import { BOT_TEXTS, type Localization, localizationsOf } from '../locales/localization.ts';
import { booleanOption, FOR_MODERATORS, localized, stringOption, userOption } from './definition.ts';
import { completePlayer } from './player-choice.ts';
import { loadSteamBans, type SteamBansDeps } from './steam-bans.ts';
import { requireOwnSteamId, resolveSteamOptions, type SubjectDeps } from './subject.ts';
import {
  moderateMembersRequired,
  type PersonCommand,
  respondAboutPerson,
  showsDiscord,
} from './visibility.ts';

export type BanCheckDeps = SubjectDeps & { appealUrl: string | undefined } & SteamBansDeps;

/** `/ban-check steamid? user? player? show?` Everyone may use it, so it has no default permission. */
export function banCheckDefinition(): Command['data'] {
  return {
    ...localized(({ banCheck }) => banCheck),
    type: ApplicationCommandType.ChatInput,
    options: [
      stringOption(({ banCheck }) => banCheck.options.steamid),
      userOption(({ banCheck }) => banCheck.options.user),
      stringOption(({ banCheck }) => banCheck.options.player, { autocomplete: true }),
      booleanOption(({ banCheck }) => banCheck.options.show),
    ],
  };
}

/** `/ban-check`: the invoker's own record; for moderators anyone's. */
export function banCheckCommand(deps: BanCheckDeps): Command {
  return {
    data: banCheckDefinition(),
    execute: (invoker, options) =>
      respondAboutPerson(invoker, options, (command) => renderFirstPage(deps, command)),
    autocomplete: (invoker, typed) => completePlayer(deps, invoker, typed),
  };
}

/** "Check bans" in the menu of a user. */
export function checkBansDefinition(): Command['data'] {
  return {
    type: ApplicationCommandType.User,
    name: BOT_TEXTS[DEFAULT_LANGUAGE].commands.checkBans.name,
    name_localizations: localizationsOf(({ commands }) => commands.checkBans.name),
    default_member_permissions: FOR_MODERATORS,
  };
}

/** "Check bans" in the user context menu: the record of the linked player. */
export function checkBansCommand(deps: BanCheckDeps): Command {
  return {
    data: checkBansDefinition(),
    execute: (invoker, options) => ({
      kind: 'ephemeral',
      render: () => {
        const { localization } = invoker;
        return renderFirstPage(deps, { invoker, options, kind: 'ephemeral', localization });
      },
    }),
  };
}

async function renderFirstPage(deps: BanCheckDeps, command: PersonCommand): Promise<MessageView> {
  const { invoker, localization } = command;
  const steamId = await resolveSubject(deps, command);
  return renderRecord(deps, steamId, { invoker, localization, page: 1 });
}

/**
 * The player whose record is requested. A Discord user takes precedence over a SteamID, as in the API's lookup, and a
 * SteamID over a nickname.
 * @throws {Refusal} when there is none, or when the invoker may not see it.
 */
async function resolveSubject(
  deps: BanCheckDeps,
  { invoker, options, kind }: PersonCommand,
): Promise<SteamId64> {
  const discordId = options.users.user;
  if (discordId !== undefined && discordId !== invoker.discordId) {
    if (!invoker.canModerateMembers) throw moderateMembersRequired();
    const user = await findUserByDiscordId(deps.db, discordId);
    if (user && showsDiscord(user, invoker, kind)) return user.steamId64;
    throw new Refusal(({ refusals }) => noticeMessage(refusals.notLinkedUser(userMention(discordId))));
  }
  const subject = discordId === undefined ? await resolveSteamOptions(deps, invoker, options) : undefined;
  return subject ?? requireOwnSteamId(deps, invoker);
}

/** A page of a player's record. The caller has checked that the invoker may see it. */
export async function renderRecord(
  deps: BanCheckDeps,
  steamId: SteamId64,
  {
    invoker,
    localization: { texts },
    page,
    ...filter
  }: RecordFilter & { invoker: Invoker; localization: Localization; page: number },
): Promise<MessageView> {
  const now = deps.now();
  const [record, user, steamBans] = await Promise.all([
    loadPlayerRecord(deps.db, steamId, {
      ...filter,
      page,
      perPage: PENALTIES_PER_PAGE,
      now,
    }),
    findUserBySteamId(deps.db, steamId),
    loadSteamBans(deps, steamId),
  ]);
  const names = [user?.nickname ?? '', record.playerName ?? ''];
  const playerName = names.find(hasVisibleCharacter) ?? steamId;
  return recordMessage(toRecordView(record, { steamId, playerName, filter, steamBans }, now), {
    texts,
    invokerId: invoker.discordId,
    appealUrl: deps.appealUrl,
  });
}

function toRecordView(
  { rows, activeRows, ...record }: PlayerRecord,
  subject: Pick<RecordView, 'steamId' | 'playerName' | 'filter' | 'steamBans'>,
  now: Date,
): RecordView {
  const toView = (penalty: RecordedPenalty) => ({
    ...penalty,
    serverName: serverNameOf(penalty),
    endsAt: knownEnd(penalty, now),
  });
  return { ...record, ...subject, lead: findLead(activeRows.map(toView)), penalties: rows.map(toView) };
}
