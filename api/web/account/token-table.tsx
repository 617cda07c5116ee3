import type { JSX } from 'hono/jsx/jsx-runtime';
import { tokenStateOf } from '../../../src/domain/api-token.ts';
import { TOKEN_SCOPES } from '../../../src/domain/rights/token-scope.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import type { ApiToken } from '../../../src/queries/users/api-tokens.ts';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { type Column, ListTable } from '../layout/list-table.tsx';
import { Moment } from '../layout/moment.tsx';
import { textsOf } from '../locales/texts.ts';
import type { UserVisit } from '../request/visit.ts';

type TokenTableProps = {
  tokens: ApiToken[];
  /** The text when there are none. */
  empty: string;
  visit: UserVisit;
  /** Where revoking a token is posted to. */
  revokePathOf: (token: ApiToken) => string;
  /** Adds a column with the state of each token, for tables that list ended ones too. */
  showsStates?: boolean;
};

/** Tokens with their scopes and times; live ones can be revoked. */
export function TokenTable(props: TokenTableProps): JSX.Element {
  const { tokens, empty, visit, revokePathOf, showsStates = false } = props;
  const { tokens: t, moderation } = textsOf(visit.language);
  const stateOf = (token: ApiToken) => tokenStateOf(token, visit.now);
  const state: Column<ApiToken> = [
    moderation.state,
    (token) => <span class={`state state-${stateOf(token)}`}>{moderation.tokenState[stateOf(token)]}</span>,
  ];
  return (
    <ListTable
      rows={tokens}
      empty={empty}
      columns={[
        [t.name, ({ name }) => name, 'list-words'],
        [
          t.columns.token,
          ({ lastFour }) => (
            <code>
              <span aria-hidden="true">…</span>
              <span class="sr-only">{t.endsWith} </span>
              <span>{lastFour}</span>
            </code>
          ),
        ],
        ...(showsStates ? [state] : []),
        [
          t.columns.scopes,
          ({ scopes }) =>
            scopes.length === TOKEN_SCOPES.length ? t.allScopes : <code>{scopes.join(', ')}</code>,
        ],
        [t.columns.created, ({ createdAt }) => <Moment at={createdAt} visit={visit} />],
        [
          t.columns.used,
          ({ lastUsedAt }) => (lastUsedAt ? <Moment at={lastUsedAt} visit={visit} /> : t.never),
        ],
        [
          t.columns.expires,
          ({ expiresAt }) => (expiresAt ? <Moment at={expiresAt} visit={visit} /> : t.never),
        ],
        [
          t.revoke,
          (token) =>
            stateOf(token) === 'live' && (
              <ConfirmButton
                visit={visit}
                action={revokePathOf(token)}
                label={t.revoke}
                fullLabel={t.revokeNamed(isolate(token.name))}
                title={t.revokeTitle}
                lead={t.revokeLead(isolate(token.name), token.lastFour)}
              />
            ),
          'list-action',
        ],
      ]}
    />
  );
}
