/**
 * How an interaction ended: with its response, with a refusal, with the notice of the cooldown, with an internal failure,
 * or without any response that reached Discord.
 */
export const INTERACTION_OUTCOMES = [
  'completed',
  'refused',
  'rate_limited',
  'failed',
  'undelivered',
] as const;
export type InteractionOutcome = (typeof INTERACTION_OUTCOMES)[number];
