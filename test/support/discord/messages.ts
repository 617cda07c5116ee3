import { type APIAttachment, type APIMessage, MessageFlags, MessageType } from 'discord.js';
import type { Actor, FakeUser } from './actor.ts';
import type { FakeComponent, MessageForm, UploadedFile } from './message-form.ts';
import { nextSnowflake } from './snowflake.ts';

export type FakeMessage = Pick<
  APIMessage,
  'id' | 'channel_id' | 'content' | 'embeds' | 'timestamp' | 'edited_timestamp' | 'mention_roles' | 'type'
> & {
  components: FakeComponent[];
  attachments: Pick<APIAttachment, 'id' | 'filename' | 'description' | 'url' | 'size'>[];
  flags: number;
  author: Record<string, unknown>;
  message_reference?: MessageForm['message_reference'];
  interaction_metadata?: {
    id: string;
    type: number;
    user: FakeUser;
    authorizing_integration_owners: Record<string, string>;
  };
  /** For tests; Discord's own messages do not carry it. */
  files: UploadedFile[];
  /** For tests; Discord's own messages do not carry it. */
  allowedMentions: MessageForm['allowed_mentions'];
};

/** The interaction that a message responds to. */
type Origin = { id: string; type: number; actor: Actor };

export type MessageStore = ReturnType<typeof createMessageStore>;

/** The messages of all channels. @param keeps false: none is kept, for runs that create very many. */
export function createMessageStore(author: Record<string, unknown>, { keeps }: { keeps: boolean }) {
  /** By id. */
  const all = new Map<string, FakeMessage>();
  return {
    all,
    create: (channelId: string, form: MessageForm, files: UploadedFile[], origin?: Origin): FakeMessage => {
      const message: FakeMessage = {
        id: nextSnowflake(),
        channel_id: channelId,
        content: form.content ?? '',
        embeds: form.embeds ?? [],
        components: form.components ?? [],
        attachments: toAttachments(form, files),
        flags: form.flags ?? 0,
        author,
        timestamp: new Date().toISOString(),
        edited_timestamp: null,
        mention_roles: mentionedRoles(form),
        ...(form.message_reference && { message_reference: form.message_reference }),
        type: origin ? MessageType.ChatInputCommand : MessageType.Default,
        files,
        allowedMentions: form.allowed_mentions,
        ...(origin && {
          interaction_metadata: {
            id: origin.id,
            type: origin.type,
            user: origin.actor.user,
            authorizing_integration_owners: { 0: origin.actor.guildId ?? '0' },
          },
        }),
      };
      if (keeps) all.set(message.id, message);
      return message;
    },
    /** Changes what the form names, and leaves the rest. */
    edit: (message: FakeMessage, form: MessageForm, files: UploadedFile[]): FakeMessage => {
      if (form.content !== undefined) message.content = form.content ?? '';
      if (form.embeds !== undefined) message.embeds = form.embeds ?? [];
      if (form.components !== undefined) message.components = form.components ?? [];
      if (form.attachments !== undefined || files.length > 0) {
        const named = new Set(form.attachments?.map(({ id }) => String(id)));
        const kept = message.attachments.filter(({ id }) => named.has(id));
        message.attachments = [...kept, ...toAttachments(form, files)];
        message.files = files;
      }
      message.allowedMentions = form.allowed_mentions;
      message.edited_timestamp = new Date().toISOString();
      return message;
    },
  };
}

/** Whether only the invoker sees it. */
export function isEphemeral(message: FakeMessage | undefined): boolean {
  return message !== undefined && (message.flags & MessageFlags.Ephemeral) !== 0;
}

/** The component of a message that has a custom id. */
export function findComponent(
  message: FakeMessage | undefined,
  customId: string | RegExp,
): FakeComponent | undefined {
  return componentsOf(message).find(({ custom_id: id = '' }) =>
    typeof customId === 'string' ? id === customId : customId.test(id),
  );
}

/** The button with a label. */
export function findButton(message: FakeMessage | undefined, label: string): FakeComponent | undefined {
  return componentsOf(message).find((component) => component.label === label);
}

/** The buttons and menus of a message. */
export function componentsOf(message: FakeMessage | undefined): FakeComponent[] {
  return message?.components.flatMap((row) => row.components ?? []) ?? [];
}

function mentionedRoles({ content, allowed_mentions: allowed }: MessageForm): string[] {
  const named = [...(content ?? '').matchAll(/<@&(\d+)>/g)].map(([, id = '']) => id);
  return named.filter((id) => !allowed || allowed.roles?.includes(id) || allowed.parse?.includes('roles'));
}

function toAttachments(form: MessageForm, files: UploadedFile[]): FakeMessage['attachments'] {
  return files.map(({ name, bytes }, index) => {
    const described = form.attachments?.find(({ id }) => String(id) === String(index));
    return {
      id: nextSnowflake(),
      filename: name,
      url: `https://cdn.discordapp.com/attachments/${name}`,
      size: bytes.length,
      ...(described?.description !== undefined && { description: described.description }),
    };
  });
}
