import { AttachmentBuilder, MessageFlags, RESTJSONErrorCodes } from 'discord.js';
import type { CommandResponse } from '../commands/command.ts';
import { LIMITS } from '../embeds/discord-limits.ts';
import { type MessageView, rowsOf } from '../embeds/message-view.ts';
import { isDiscordError, isOfInteraction, isRateLimited } from '../gateway/rest.ts';
import type { DeferrableInteraction } from './interaction.ts';

type Kind = CommandResponse['kind'];

/** Acknowledges an interaction; the message follows by {@link deliver}. */
export async function defer(interaction: DeferrableInteraction, kind: Kind): Promise<void> {
  if (kind === 'update' && interaction.isMessageComponent()) await interaction.deferUpdate();
  else await interaction.deferReply(kind === 'public' ? {} : { flags: MessageFlags.Ephemeral });
}

/** Sends the response to an interaction, deferred or not. */
export async function deliver(
  interaction: DeferrableInteraction,
  view: MessageView,
  kind: Kind,
): Promise<void> {
  const payload = toPayload(view);
  // `attachments: []` removes the previous chart from the edited message.
  if (interaction.deferred) await interaction.editReply({ ...payload, attachments: [] });
  else if (kind === 'update' && interaction.isMessageComponent())
    await interaction.update({ ...payload, attachments: [] });
  else await interaction.reply(kind === 'public' ? payload : { ...payload, flags: MessageFlags.Ephemeral });
}

/**
 * Shows a notice only to the invoker, in place of a response.
 * @param kind that of the response, by which the interaction was deferred, if it was.
 */
export async function notify(
  interaction: DeferrableInteraction,
  notice: MessageView,
  kind: Kind,
): Promise<void> {
  const isAcknowledged = interaction.deferred || interaction.replied;
  if (!isAcknowledged || kind === 'ephemeral') return deliver(interaction, notice, 'ephemeral');
  // Everyone would see the notice if it replaced the deferred public response.
  if (kind === 'public') await interaction.deleteReply();
  await interaction.followUp({ ...toPayload(notice), flags: MessageFlags.Ephemeral });
}

/** Whether Discord accepts no response any more: the interaction has expired, has one already, or is limited for too long. */
export function isInteractionOver(error: unknown): boolean {
  if (isRateLimited(error)) return isOfInteraction(error.route);
  return isDiscordError(
    error,
    RESTJSONErrorCodes.UnknownInteraction,
    RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged,
  );
}

function toPayload(view: MessageView) {
  const { embeds, files = [] } = view;
  return {
    embeds,
    components: rowsOf(view),
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
