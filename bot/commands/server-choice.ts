import { foldText } from '../../src/domain/text/fold-text.ts';
import { type ServerView, toServerView } from '../../src/live/server-view.ts';
import { type Choice, type CommandDeps, Refusal } from '../command.ts';
import { LIMITS } from '../discord-limits.ts';
import { listViews, serverChoice } from '../embeds/server-list.ts';
import type { Texts } from '../locales/en.ts';
import { escapeText } from '../text.ts';

/** Suggests servers whose name, slug or map contains the typed text; the values are slugs. */
export function completeServer(deps: CommandDeps, typed: string, texts: Texts): Choice[] {
  const part = foldText(typed.trim());
  return listViews(deps)
    .filter(({ name, slug, map }) => [name, slug, map].some((text) => foldText(text).includes(part)))
    .map((server) => serverChoice(server, texts))
    .filter(({ value }) => value.length <= LIMITS.choiceText)
    .slice(0, LIMITS.choices);
}

/**
 * A server by its slug or exact name; the text can be anything, since autocomplete only suggests.
 * @throws {Refusal} when there is none.
 */
export function findServer({ servers }: CommandDeps, text: string): ServerView {
  const status =
    servers.findBySlug(text) ??
    servers.findBySlug(text.toLowerCase()) ??
    servers.current().find(({ server }) => foldText(server.name) === foldText(text));
  if (status) return toServerView(status);
  throw new Refusal(({ refusals }) => refusals.serverNotFound(escapeText(text, { max: 64, fallback: '?' })));
}
