import { tryParseSteamId } from '../../src/domain/steam-id.ts';
import {
  type CommandResponse,
  type ComponentPress,
  type Components,
  type Invoker,
  Refusal,
} from '../command.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import { readFilter } from '../embeds/player-record-controls.ts';
import type { RecordFilter } from '../embeds/player-record-view.ts';
import { tryParsePositive } from '../interactions/custom-id.ts';
import { type BanCheckDeps, renderRecord } from './ban-check.ts';
import { requireMaySee } from './subject.ts';

/**
 * The page buttons and filters of a record, and the button that opens it from a profile. Each press is checked again:
 * who owns the message, and whether the invoker may see the record.
 */
export function banCheckComponents(deps: BanCheckDeps): Components {
  const update = (invoker: Invoker, press: ComponentPress, state: State): CommandResponse => ({
    kind: 'update',
    render: () => renderState(deps, invoker, press, state),
  });
  return {
    'record.page': (invoker, press) => {
      const [, ownerId, steamId, page, type, status] = press.args;
      return update(invoker, press, { ownerId, steamId, page, filter: readFilter(type, status) });
    },
    'record.type': (invoker, press) => {
      const [ownerId, steamId, , status] = press.args;
      return update(invoker, press, { ownerId, steamId, filter: readFilter(press.values[0], status) });
    },
    'record.status': (invoker, press) => {
      const [ownerId, steamId, type] = press.args;
      return update(invoker, press, { ownerId, steamId, filter: readFilter(type, press.values[0]) });
    },
    'record.open': (invoker, press) => {
      const [ownerId, steamId] = press.args;
      return {
        kind: 'ephemeral',
        render: () =>
          renderState(deps, invoker, { ...press, isEphemeral: true }, { ownerId, steamId, filter: {} }),
      };
    },
  };
}

/** The state in a `custom_id`, not yet checked. */
type State = {
  ownerId: string | undefined;
  steamId: string | undefined;
  page?: string | undefined;
  filter: RecordFilter;
};

async function renderState(
  deps: BanCheckDeps,
  invoker: Invoker,
  { messageOwnerId, isEphemeral }: ComponentPress,
  { ownerId, steamId, page, filter }: State,
): Promise<MessageView> {
  // The owner in a custom id can be forged, the owner of the message cannot.
  const isOwn =
    ownerId === invoker.discordId && (messageOwnerId === undefined || messageOwnerId === invoker.discordId);
  if (!isOwn) throw new Refusal(({ refusals }) => noticeMessage(refusals.notYours));
  const subject = tryParseSteamId(steamId ?? '');
  if (subject === undefined) throw new Refusal(({ refusals }) => noticeMessage(refusals.outdated));
  await requireMaySee(deps, invoker, subject);
  const localization = isEphemeral ? invoker.localization : invoker.guildLocalization;
  return renderRecord(deps, subject, { invoker, localization, page: tryParsePositive(page) ?? 1, ...filter });
}
