/**
 * The warning that people who were erased are named again, because the secret that recognises them is gone.
 * @param whatFollows what this command can spoil.
 */
export function describeLostErasures(count: number, whatFollows: string): string {
  const who = count === 1 ? '1 erased person is' : `${count} erased people are`;
  return (
    `warning: ${who} not recognised, since the secret that they were erased by is lost: ` +
    `${whatFollows} (docs/privacy.md, "Erased people")`
  );
}
