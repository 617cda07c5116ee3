/**
 * Discord's limits: lengths in characters, counted here in UTF-16 units, which are never fewer, and numbers of entries.
 * discord.js does not export them.
 * @see https://docs.discord.com/developers/resources/message#embed-object-embed-limits
 * @see https://docs.discord.com/developers/components/reference
 * @see https://docs.discord.com/developers/interactions/application-commands#application-command-object-application-command-option-choice-structure
 */
export const LIMITS = {
  embedTitle: 256,
  embedDescription: 4096,
  embedFieldValue: 1024,
  attachmentDescription: 1024,
  customId: 100,
  menuOptions: 25,
  menuOptionText: 100,
  choices: 25,
  choiceText: 100,
} as const;
