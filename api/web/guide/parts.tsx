import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Policy } from '../../http/responses.ts';
import type { Sample } from './samples.ts';

/** Facts about this installation that the guide mentions. */
export type GuideFacts = { publicUrl: string; version: string; limits: Record<Policy, number> };

/** One language of the guide. */
export type Guide = {
  title: string;
  /** The introduction: one or two sentences. */
  lead: string;
  contents: string;
  /** The title of the reference below the guide, and of the link to it. */
  reference: string;
  sections: { id: string; title: string; body: (facts: GuideFacts) => JSX.Element }[];
};

/** Programs in several languages, one below the other. */
export function Samples({ samples }: { samples: readonly Sample[] }): JSX.Element {
  return (
    <>
      {samples.map(({ id, language, code }) => (
        <figure>
          <figcaption>{language}</figcaption>
          {/* Focusable, so that it can be scrolled by keyboard. */}
          <pre id={id} tabindex={0}>
            <code>{code}</code>
          </pre>
        </figure>
      ))}
    </>
  );
}

/** What each status means and what a program does about it. */
export function ErrorTable({
  heads,
  rows,
}: {
  heads: readonly string[];
  rows: readonly (readonly [status: string, meaning: string, reaction: Child])[];
}): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          {heads.map((head) => (
            <th scope="col">{head}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([status, meaning, reaction]) => (
          <tr>
            <th scope="row">{status}</th>
            <td>{meaning}</td>
            <td>{reaction}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
