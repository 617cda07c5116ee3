import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type EncodedBody, encodeBody, respondEncoded } from '../../http/encoding.ts';
import { accentRules } from './accent.ts';

/** Concatenated in this order into one stylesheet for all pages; later rules override earlier ones. */
const STYLES = [
  'base',
  'shell',
  'cards',
  'profile',
  'controls',
  'tables',
  'penalties',
  'status',
  'charts',
  'moderation',
  'sign-in',
  'dialog',
  'preferences',
  'round-sound',
] as const;
const NAMES = ['pages.css', 'pages.js', 'status.js', 'round-sound.js', 'favicon.svg'] as const;
export type AssetName = (typeof NAMES)[number];

export type Assets = {
  /** Replaces the link to the stylesheet in a page by the stylesheet itself. */
  inlineStyles: (html: string) => string;
  /** What allows the inline stylesheet in a content security policy: `'sha256-…'`. */
  stylePolicySource: string;
  /** The address of a file, which contains a hash of its bytes: browsers may cache it indefinitely. */
  url: (name: AssetName) => string;
  /** @param fileName the last segment of the address. @returns undefined for an unknown file or an older version. */
  respond: (fileName: string, request: Request) => Response | undefined;
};

/**
 * Loads the stylesheets, scripts and icon into memory.
 * @param accent the community's colour, `#rrggbb`.
 */
export function loadAssets(accent: string | undefined): Assets {
  const files = new Map<string, EncodedBody & { type: string }>();
  const addresses = new Map<AssetName, string>();
  const styles = joinStyles(accent);
  for (const name of NAMES) {
    const bytes = name === 'pages.css' ? styles : readAsset(name);
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    const fileName = name.replace('.', `.${hash}.`);
    files.set(fileName, { ...encodeBody(bytes), type: Bun.file(name).type });
    addresses.set(name, `/account/assets/${fileName}`);
  }
  const link = `<link rel="stylesheet" href="${addresses.get('pages.css')}"/>`;
  const style = `<style>${Buffer.from(styles)}</style>`;
  return {
    inlineStyles: (html) => html.replace(link, () => style),
    stylePolicySource: `'sha256-${createHash('sha256').update(styles).digest('base64')}'`,
    url: (name) => addresses.get(name) ?? '',
    respond: (fileName, request) => {
      const file = files.get(fileName);
      if (!file) return undefined;
      return respondEncoded(request, file, {
        'Cache-Control': 'public, max-age=31536000, immutable',
        'Content-Type': file.type,
      });
    },
  };
}

function joinStyles(accent: string | undefined): Uint8Array<ArrayBuffer> {
  const styles: Uint8Array[] = STYLES.map((name) => readAsset(`styles/${name}.css`));
  if (accent !== undefined) styles.push(Buffer.from(accentRules(accent)));
  return new Uint8Array(Buffer.concat(styles));
}

function readAsset(path: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(new URL(`./assets/${path}`, import.meta.url)));
}
