import { expect, test } from 'bun:test';
import { openImports, storedPenalty } from '../../../support/import/penalty-rows.ts';
import { BASIA, NOW, SYSTEMS } from '../../../support/import/systems.ts';

const { db, deps, createFile } = await openImports();

test('reads a reason of a lift as it was entered in the panel of SourceBans++, which stores it as HTML', async () => {
  const { schema, add, addAdmin, lift, run } = SYSTEMS['SourceBans++'];
  const reason = '&lt;b&gt; &amp;amp; &quot;sorry&quot; &#039;&#039;bye&#039;&#039; &copy; & <3';
  const url = createFile(
    schema,
    addAdmin(BASIA),
    add('ban', { id: 1 }),
    // Statements of the file are separated by semicolons.
    lift('ban', 1, { by: BASIA, at: NOW - 10, reason: reason.replaceAll(';', "'||char(59)||'") }),
  );
  await run(deps, { url });
  expect(await storedPenalty(db, 'bans', 1)).toMatchObject({
    liftReason: `<b> &amp; "sorry" ''bye'' &copy; & <3`,
  });
});
