import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Variables } from './environment.ts';

const LINE = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*[=:]\s*(.*?)\s*$/;
const QUOTED = /^(["'`])(.*?)\1/;
const EXPANSION = /(\\?)\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))/g;

/**
 * The lines of Bun's `.env` files that Bun reads otherwise than they look: it ends a value without quotes at any `#`, and
 * replaces `$NAME` in every value, by nothing where there is no such variable. A comment after a space, and a variable
 * that is set, count as meant.
 * @param variables the environment after Bun has read the files. A line whose variable has another value has no effect.
 * @returns one warning each, without the value.
 * @see https://bun.com/docs/runtime/environment-variables
 */
export function findMisreadLines(variables: Variables, folder = '.'): string[] {
  const mode = variables.NODE_ENV || 'development';
  return [`.env.${mode}.local`, '.env.local', `.env.${mode}`, '.env'].flatMap((file) =>
    readLines(join(folder, file)).flatMap((line, index) => {
      const [, variable = '', text = ''] = LINE.exec(line) ?? [];
      const rule = findRule(text, variables, variables[variable]);
      return rule === undefined ? [] : [`${file}, line ${index + 1}: ${variable} ${rule}`];
    }),
  );
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split(/\r?\n/);
  } catch {
    return [];
  }
}

/** Why Bun reads a value otherwise than it looks, if the result is `actual`. */
function findRule(text: string, variables: Variables, actual: string | undefined): string | undefined {
  const quoted = QUOTED.exec(text)?.[2];
  const value = quoted ?? text.replace(/#.*/, '').trimEnd();
  let isEmptied = false;
  const expanded = value.replace(
    EXPANSION,
    (whole: string, backslash: string, inBraces?: string, fallback?: string, bare?: string) => {
      if (backslash !== '') return whole.slice(1);
      const replacement = variables[inBraces ?? bare ?? ''] || fallback || '';
      isEmptied ||= replacement === '';
      return replacement;
    },
  );
  if (expanded !== actual) return undefined;
  if (isEmptied) return 'loses what follows a $: write \\$, or %24 in an address';
  const isCut = quoted === undefined && text.includes('#') && !/^[^#]*(?<!\S)#(?:\s|$)/.test(text);
  return isCut ? 'ends at a #: put the value in quotes, or write %23 in an address' : undefined;
}
