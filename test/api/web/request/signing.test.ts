import { expect, test } from 'bun:test';
import { createSigner } from '../../../../api/web/request/signing.ts';

const signer = createSigner('s'.repeat(32));

test('opens what it sealed for the same purpose only', () => {
  const sealed = signer.seal('one', 'żółw');
  expect(signer.open('one', sealed)).toBe('żółw');
  expect(signer.open('other', sealed)).toBeUndefined();
  expect(createSigner('t'.repeat(32)).open('one', sealed)).toBeUndefined();
});

test('refuses a sealed value that was changed in any way', () => {
  // 31 bytes, whose last character of base64url has two spare bits.
  const sealed = signer.seal('one', 'abc');
  const changed = [...sealed].flatMap((character, at) =>
    ['A', 'B', 'C', 'D', '-', '=', ''].flatMap((other) =>
      other === character ? [] : [sealed.slice(0, at) + other + sealed.slice(at + 1)],
    ),
  );
  for (const other of [
    ...changed,
    `${sealed}=`,
    `${sealed} `,
    `${sealed}\n`,
    `${sealed}!`,
    `.${sealed}`,
    '',
  ]) {
    expect([other, signer.open('one', other)]).toEqual([other, undefined]);
  }
});
