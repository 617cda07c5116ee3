const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' } as const;

/** Writes a text as the panel stores the reasons of lifts: its pages show them as HTML. */
export function encodeEntities(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character as keyof typeof ENTITIES]);
}

const CHARACTERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(ENTITIES).map(([character, entity]) => [entity, character])),
  // Panels on PHP 8.1 or newer write this one, too.
  '&#039;': "'",
};

/** Reads a reason of a lift that the panel stored, or a game server, which writes no entities. */
export function decodeEntities(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#039);/g, (entity) => CHARACTERS[entity] ?? entity);
}
