import type { JSX } from 'hono/jsx/jsx-runtime';

/** Line icons, 24 by 24, in the text colour. */
const PATHS = {
  mark: 'M12 3v4M12 17v4M3 12h4M17 12h4M12 12h.01M12 19a7 7 0 1 0 0-14 7 7 0 0 0 0 14Z',
  key: 'M15 9h.01M14 3a7 7 0 0 0-6.6 9.3L3 16.7V21h4.3v-2.6h2.6v-2.6h1.3l.5-.5A7 7 0 1 0 14 3Z',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1-1',
  sound: 'M4 10v4h3l5 4V6l-5 4H4ZM16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  leave: 'M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9',
  shield: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6l7-3Z',
  forbidden: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM5.6 5.6l12.8 12.8',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM16 16l5 5',
  devices: 'M3 5h13v9H3zM2 18h9M14 10h7v10h-7z',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 11v5M12 8h.01',
  warning: 'M12 4 2.5 20h19L12 4ZM12 10v4M12 17h.01',
} as const;
export type IconName = keyof typeof PATHS;

/** An icon next to a word with the same meaning, hence hidden from screen readers. */
export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
