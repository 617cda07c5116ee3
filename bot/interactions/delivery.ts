import { AttachmentBuilder, MessageFlags, RESTJSONErrorCodes } from 'discord.js';
import type { CommandResponse } from '../command.ts';
import { LIMITS } from '../discord-limits.ts';
import type { MessageView } from '../embeds/message.ts';
import type { SendWithLinkFallback } from '../link-fallback.ts';
import { isDiscordError } from '../rest.ts';
import type { DeferrableInteraction } from './interaction.ts';

type Kind = CommandResponse['kind'];

/** Sends responses to interactions, deferred or not. */
export type Delivery = {
  /** Acknowledges the interaction; the message follows by `deliver`. */
  defer: (interaction: DeferrableInteraction, kind: Kind) => Promise<void>;
  deliver: (interaction: DeferrableInteraction, view: MessageView, kind: Kind) => Promise<void>;
  /**
   * Shows a notice only to the invoker, in place of a response.
   * @param kind of that response; it says how the interaction was deferred, if it was.
   */
  notify: (interaction: DeferrableInteraction, notice: MessageView, kind: Kind) => Promise<void>;
};

/** Creates a delivery that sends each message through the fallback for links. */
export function createDelivery(sendWithLinkFallback: SendWithLinkFallback): Delivery {
  const deliver: Delivery['deliver'] = (interaction, view, kind) =>
    sendWithLinkFallback(view, (message) => send(interaction, message, kind));
  return {
    defer: async (interaction, kind) => {
      if (kind === 'update' && interaction.isMessageComponent()) await interaction.deferUpdate();
      else await interaction.deferReply(kind === 'public' ? {} : { flags: MessageFlags.Ephemeral });
    },
    deliver,
    notify: async (interaction, notice, kind) => {
      const isAcknowledged = interaction.deferred || interaction.replied;
      if (!isAcknowledged || kind === 'ephemeral') return deliver(interaction, notice, 'ephemeral');
      // Everyone would see the notice if it replaced the deferred public response.
      if (kind === 'public') await interaction.deleteReply();
      await sendWithLinkFallback(notice, (message) =>
        interaction.followUp({ ...toPayload(message), flags: MessageFlags.Ephemeral }),
      );
    },
  };
}

/** Whether Discord no longer accepts a response: the interaction has expired, or has one already. */
export function isInteractionOver(error: unknown): boolean {
  return (
    isDiscordError(error, RESTJSONErrorCodes.UnknownInteraction) ||
    isDiscordError(error, RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged)
  );
}

async function send(interaction: DeferrableInteraction, view: MessageView, kind: Kind): Promise<void> {
  const payload = toPayload(view);
  // `attachments: []` removes the previous chart from the edited message.
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
