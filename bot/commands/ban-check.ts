import { ApplicationCommandType, userMention } from 'discord.js';
import { type PlayerRecord, readPlayerRecord } from '../../src/queries/player-record.ts';
import { findUserByDiscordId, findUserBySteamId } from '../../src/queries/users.ts';
import type { SteamId64 } from '../../src/steam-id.ts';
import { hasVisibleCharacter } from '../../src/visible-text.ts';
import { type Command, type CommandOptions, type Invoker, Refusal } from '../command.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import { PENALTIES_PER_PAGE, recordMessage } from '../embeds/record.ts';
import type { RecordFilter, RecordView } from '../embeds/record-view.ts';
import { en } from '../locales/en.ts';
import type { Localization } from '../locales/localization.ts';
import { pl } from '../locales/pl.ts';
import { booleanOption, localized, MODERATE_MEMBERS, stringOption, userOption } from './definition.ts';
import {
  moderateMembersRequired,
  requireMaySee,
  requireOwnSteamId,
  resolveSteamId,
  type SubjectDeps,
} from './subject.ts';
import { visibilityOf } from './visibility.ts';

export type BanCheckDeps = SubjectDeps & { now: () => Date };

/** `/ban-check steamid? user? show?` Everyone may use it, so it has no default permission. */
export const BAN_CHECK_DEFINITION: Command['data'] = {
  ...localized(({ banCheck }) => banCheck),
  type: ApplicationCommandType.ChatInput,
  options: [
    stringOption(({ banCheck }) => banCheck.options.steamid),
    userOption(({ banCheck }) => banCheck.options.user),
    booleanOption(({ banCheck }) => banCheck.options.show),
  ],
};

/** `/ban-check`: one's own record, or for moderators anyone's. */
export function banCheckCommand(deps: BanCheckDeps): Command {
  return {
    data: BAN_CHECK_DEFINITION,
    execute: (invoker, options) => {
      const { kind, localization } = visibilityOf(invoker, options);
      return { kind, render: () => renderFirstPage(deps, invoker, options, localization) };
    },
  };
}

export const CHECK_BANS_DEFINITION: Command['data'] = {
  type: ApplicationCommandType.User,
  name: en.commands.checkBans.name,
  name_localizations: { pl: pl.commands.checkBans.name },
  default_member_permissions: MODERATE_MEMBERS,
};

/** "Check bans" in the menu on a user: the record of the account linked to them. */
export function checkBansCommand(deps: BanCheckDeps): Command {
  return {
    data: CHECK_BANS_DEFINITION,
    execute: (invoker, options) => ({
      kind: 'ephemeral',
      render: () => renderFirstPage(deps, invoker, options, invoker.localization),
    }),
  };
}

async function renderFirstPage(
  deps: BanCheckDeps,
  invoker: Invoker,
  options: CommandOptions,
  localization: Localization,
): Promise<MessageView> {
  const steamId = await resolveSubject(deps, invoker, options);
  return renderRecord(deps, invoker, localization, steamId, { page: 1 });
}

/**
 * Whose record is meant, once it is certain that the invoker may see it. A Discord user wins over a SteamID, as in the
 * API's lookup.
 * @throws {Refusal}
 */
async function resolveSubject(
  deps: BanCheckDeps,
  invoker: Invoker,
  { strings, users }: CommandOptions,
): Promise<SteamId64> {
  const discordId = users.user;
  if (discordId !== undefined && discordId !== invoker.discordId) {
    if (!invoker.canModerateMembers) throw moderateMembersRequired();
    const user = await findUserByDiscordId(deps.database.reader, discordId);
    if (user) return user.steamId64;
    throw new Refusal(({ refusals }) => noticeMessage(refusals.notLinkedUser(userMention(discordId))));
  }
  const steamId = strings.steamid?.trim();
  if (discordId !== undefined || !steamId) return requireOwnSteamId(deps, invoker);
  const subject = await resolveSteamId(deps, steamId);
  await requireMaySee(deps, invoker, subject);
  return subject;
}

/** A page of a player's record; the caller has made sure that the invoker may see it. */
export async function renderRecord(
  deps: BanCheckDeps,
  invoker: Invoker,
  { texts }: Localization,
  steamId: SteamId64,
  { page, ...filter }: RecordFilter & { page: number },
): Promise<MessageView> {
  const [record, user] = await Promise.all([
    readPlayerRecord(deps.database.reader, steamId, {
      ...filter,
      page,
      perPage: PENALTIES_PER_PAGE,
      now: deps.now(),
    }),
    findUserBySteamId(deps.database.reader, steamId),
  ]);
  const names = [user?.nickname ?? '', record.playerName ?? ''];
  const playerName = names.find(hasVisibleCharacter) ?? steamId;
  return recordMessage(toRecordView(record, { steamId, playerName, filter }), {
    texts,
    invokerId: invoker.discordId,
  });
}

function toRecordView(
  { rows, ...record }: PlayerRecord,
  subject: Pick<RecordView, 'steamId' | 'playerName' | 'filter'>,
): RecordView {
  return {
    ...record,
    ...subject,
    penalties: rows.map((penalty) => ({ ...penalty, serverName: serverNameOf(penalty) })),
  };
}

/** Server 0 stands for all servers; one that is no longer in the database is shown by its number. */
function serverNameOf({ serverId, serverName }: PlayerRecord['rows'][number]): string | undefined {
  return serverName ?? (serverId === 0 ? undefined : `#${serverId}`);
}
