import type { REST } from '@discordjs/rest';
import { RESTJSONErrorCodes, type RESTPatchAPIChannelMessageJSONBody, Routes } from 'discord.js';
import { isDiscordError } from './rest.ts';

type Edit = {
  channelId: string;
  messageId: string;
  body: RESTPatchAPIChannelMessageJSONBody;
  signal?: AbortSignal;
};

/** Edits a message. Discord archives a thread some days after its last message, and refuses edits until it is open again. */
export async function editMessage(rest: REST, { channelId, messageId, ...request }: Edit): Promise<void> {
  const edit = () => rest.patch(Routes.channelMessage(channelId, messageId), request);
  try {
    await edit();
  } catch (error) {
    if (!isDiscordError(error, RESTJSONErrorCodes.InvalidActionOnArchivedThread)) throw error;
    await rest.patch(Routes.channel(channelId), { ...request, body: { archived: false } });
    await edit();
  }
}
