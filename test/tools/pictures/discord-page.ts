import { readFileSync } from 'node:fs';
import type { APIEmbed } from 'discord.js';
import { formatRelative } from '../../../api/web/locales/locale.ts';
import type { FakeComponent } from '../../support/discord/message-form.ts';
import type { FakeMessage } from '../../support/discord/messages.ts';

/** Characters that a plain machine has no fonts for, emoji and Asian scripts: they are shown as dots. */
const UNREADABLE =
  /[\p{Emoji_Presentation}\u{1F000}-\u{3FFFF}\u0900-\u109F\u1100-\u18FF\u3000-\uDFFF\uFF00-\uFFEF]+/gu;

/** A page that shows a message about as Discord does, made of the very JSON and files that the bot sent. */
export function renderDiscordPage(message: FakeMessage, { botName }: { botName: string }): string {
  const files = new Map(message.files.map(({ name, bytes }) => [name, toDataUrl(bytes)]));
  const embeds = message.embeds.map((embed) => renderEmbed(embed, files)).join('');
  const rows = message.components.map(renderRow).join('');
  return `<!doctype html><meta charset="utf-8"><style>${fontFaces()}${CSS}</style>
    <main><b class="avatar">${escapeHtml(botName.slice(0, 1))}</b><div>
    <p class="author">${escapeHtml(botName)} <i>APP</i></p>${renderText(message.content)}${embeds}${rows}</div></main>`;
}

const CSS = `
  body { margin: 0; background: #313338; color: #dbdee1; font: 15px/1.35 Inter, sans-serif; }
  main { display: flex; gap: 14px; padding: 16px; width: 540px; }
  .avatar { flex: none; width: 40px; height: 40px; border-radius: 50%; background: #5865f2; color: #fff;
    font-size: 20px; line-height: 40px; text-align: center; }
  .author { margin: 0 0 4px; color: #f2f3f5; font-weight: 600; }
  .author i { background: #5865f2; border-radius: 3px; font: 600 10px Inter; padding: 2px 4px; vertical-align: 2px; }
  .embed { background: #2b2d31; border-left: 4px solid #1e1f22; border-radius: 4px; padding: 12px 14px; }
  .embed + .embed { margin-top: 6px; }
  .embed h1 { margin: 0 0 6px; font-size: 16px; color: #f2f3f5; }
  .embed h1.link { color: #00a8fc; }
  .fields { display: grid; grid-template-columns: repeat(3, 1fr); gap: 8px; margin-top: 8px; font-size: 14px; }
  .fields .wide { grid-column: 1 / -1; }
  .fields b { display: block; color: #f2f3f5; }
  .embed img { display: block; width: 100%; margin-top: 12px; border-radius: 4px; }
  footer { margin-top: 8px; font-size: 12px; color: #b5bac1; }
  mark { background: #3c4270; border-radius: 3px; color: #c9cdfb; padding: 0 2px; }
  q { border-left: 4px solid #4e5058; display: inline-block; padding-left: 10px; quotes: none; }
  code { background: #1e1f22; border-radius: 3px; padding: 0 3px; font-size: 13px; }
  .row { display: flex; gap: 8px; margin-top: 8px; }
  .row span { background: #4e5058; border-radius: 4px; color: #fff; font-size: 14px; padding: 7px 14px; }
  .row .select { flex: 1; background: #1e1f22; color: #949ba4; }
  p { margin: 0; }`;

function renderEmbed(embed: APIEmbed, files: Map<string, string>): string {
  const colour = `#${(embed.color ?? 0).toString(16).padStart(6, '0')}`;
  const fields = (embed.fields ?? []).map(
    ({ name, value, inline }) =>
      `<div class="${inline ? '' : 'wide'}"><b>${renderInline(name)}</b>${renderInline(value)}</div>`,
  );
  const image = files.get(embed.image?.url.replace('attachment://', '') ?? '');
  return `<section class="embed" style="border-color:${colour}">
    ${embed.author ? `<p class="author">${escapeHtml(embed.author.name)}</p>` : ''}
    ${embed.title ? `<h1 class="${embed.url ? 'link' : ''}">${renderInline(embed.title)}</h1>` : ''}
    ${renderText(embed.description ?? '')}
    ${fields.length > 0 ? `<div class="fields">${fields.join('')}</div>` : ''}
    ${image ? `<img src="${image}">` : ''}
    ${embed.footer ? `<footer>${escapeHtml(embed.footer.text)}</footer>` : ''}</section>`;
}

function renderRow({ components = [] }: FakeComponent): string {
  const controls = components.map(({ label, placeholder }) =>
    placeholder === undefined
      ? `<span>${escapeHtml(label ?? '')}</span>`
      : `<span class="select">${escapeHtml(placeholder)}</span>`,
  );
  return `<div class="row">${controls.join('')}</div>`;
}

function renderText(text: string): string {
  return text === '' ? '' : `<p>${renderInline(text)}</p>`;
}

/** The part of Discord's markup that the bot uses: bold, italics, code, links, mentions, relative times, quotes, line breaks. */
function renderInline(text: string): string {
  return escapeHtml(text)
    .replace(/\\([*_~`|\\#\-.()[\]])/g, (_, escaped: string) => `&#${escaped.charCodeAt(0)};`)
    .replace(/&lt;@&amp;\d+&gt;/g, '<mark>@role</mark>')
    .replace(/&lt;@\d+&gt;/g, '<mark>@member</mark>')
    .replace(/&lt;#\d+&gt;/g, '<mark>#channel</mark>')
    .replace(/^&gt; (.*)$/gm, '<q>$1</q>')
    .replace(/&lt;t:(\d+)(?::\w)?&gt;/g, (_, seconds: string) =>
      formatRelative('en', new Date(Number(seconds) * 1000), new Date()),
    )
    .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
    .replace(/\*(.+?)\*/g, '<em>$1</em>')
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replaceAll('\n', '<br>');
}

function escapeHtml(text: string): string {
  return Bun.escapeHTML(text.replace(UNREADABLE, '•••'));
}

function toDataUrl(bytes: Uint8Array): string {
  return `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;
}

function fontFaces(): string {
  const faces = { 400: '400Regular/Inter_400Regular.ttf', 600: '600SemiBold/Inter_600SemiBold.ttf' };
  return Object.entries(faces)
    .map(([weight, name]) => {
      const file = Bun.resolveSync(`@expo-google-fonts/inter/${name}`, import.meta.dir);
      return `@font-face { font-family: Inter; font-weight: ${weight};
        src: url(data:font/ttf;base64,${readFileSync(file).toString('base64')}); }`;
    })
    .join('\n');
}
