import type { REST } from '@discordjs/rest';
import { Routes } from 'discord.js';
import type { MessageView } from './embeds/message.ts';
import { readId } from './post-message.ts';

/** Sends a message to a user. @throws DiscordAPIError when they accept none from the bot. */
export async function sendDirectMessage(
  rest: REST,
  userId: string,
  { view: { embeds, components }, signal }: { view: MessageView; signal: AbortSignal },
): Promise<void> {
  const channel = await rest.post(Routes.userChannels(), { signal, body: { recipient_id: userId } });
  const body = { embeds, components, allowed_mentions: { parse: [] } };
  await rest.post(Routes.channelMessages(readId(channel)), { signal, body });
}
