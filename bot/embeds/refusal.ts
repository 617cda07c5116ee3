import type { MentionCommand } from '../locales/command-mentions.ts';
import type { Texts } from '../locales/en.ts';
import type { MessageView } from './message-view.ts';

/** A refused command: tells the invoker why, in their language, visible only to them. */
export class Refusal extends Error {
  override name = 'Refusal';

  constructor(readonly explain: (texts: Texts, mention: MentionCommand) => string | MessageView) {
    super('refused');
  }
}
