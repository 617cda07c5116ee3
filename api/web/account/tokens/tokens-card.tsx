import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { Db } from '../../../../src/db/client.ts';
import { mayCreateTokens, type TokenAudience } from '../../../../src/domain/rights/token-audience.ts';
import { TOKEN_SCOPES } from '../../../../src/domain/rights/token-scope.ts';
import {
  listLiveApiTokens,
  MAX_LIVE_TOKENS,
  MAX_TOKEN_NAME_LENGTH,
} from '../../../../src/queries/users/api-tokens.ts';
import { Card, ProblemLine } from '../../layout/card.tsx';
import { CsrfField } from '../../layout/csrf-field.tsx';
import { Icon } from '../../layout/icons.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { SelectField } from '../../layout/search-form.tsx';
import { FORM_ID_FIELD } from '../../request/forms/form-id.ts';
import type { FormProblem } from '../../request/forms/form-problem.ts';
import type { Notice } from '../../request/notice.ts';
import type { MemberVisit } from '../../request/visit.ts';
import { DEFAULT_EXPIRY, EXPIRIES, SCOPES_OFFERED, scopeField } from './token-fields.ts';
import { TokenTable } from './token-table.tsx';

type TokensProps = {
  deps: { db: Db; tokensFor: TokenAudience };
  visit: MemberVisit;
  notice: Notice | undefined;
  problem: FormProblem | undefined;
};

/** The user's live API tokens, and the form to create one. */
export async function TokensCard({ deps, visit, notice, problem }: TokensProps): Promise<HtmlEscapedString> {
  const t = textsOf(visit.locale).tokens;
  const mayCreate = mayCreateTokens(deps.tokensFor, visit.user);
  const tokens = await listLiveApiTokens(deps.db, visit.user.id, visit.now);
  return (
    <Card id="tokens" title={t.title} icon="key" notice={notice}>
      <p class="lead">{t.lead}</p>
      {tokens.length === 0 ? (
        <p class="empty">{mayCreate ? t.none : t.noneYet}</p>
      ) : (
        <TokenTable tokens={tokens} visit={visit} revokePathOf={({ id }) => `/account/tokens/${id}/revoke`} />
      )}
      {mayCreate && tokens.length < MAX_LIVE_TOKENS && <CreateForm visit={visit} problem={problem} />}
      {mayCreate && tokens.length >= MAX_LIVE_TOKENS && <p class="hint">{t.full(MAX_LIVE_TOKENS)}</p>}
      {!mayCreate && <p class="hint">{t.forAdmins}</p>}
      {mayCreate && <p class="hint">{t.count(tokens.length, MAX_LIVE_TOKENS)}</p>}
    </Card>
  );
}

type FormProps = { visit: MemberVisit; problem: FormProblem | undefined };

/** The form's address ends in the card's anchor, where the page opens when it is shown again. */
function CreateForm({ visit, problem }: FormProps): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  const chosen = problem?.values.get('expires') ?? DEFAULT_EXPIRY;
  return (
    <form method="post" action="/account/tokens#tokens" class="create create-token">
      {problem && <ProblemLine message={problem.message} />}
      <CsrfField visit={visit} />
      <input type="hidden" name={FORM_ID_FIELD} value={crypto.randomUUID()} />
      <div class="field field-wide">
        <label for="token-name">{t.name}</label>
        <input
          id="token-name"
          name="name"
          required
          maxlength={MAX_TOKEN_NAME_LENGTH}
          value={problem?.values.get('name')}
          aria-describedby="token-name-hint"
        />
        <p class="hint" id="token-name-hint">
          {t.nameHint}
        </p>
      </div>
      <SelectField
        name="expires"
        id="token-expiry"
        label={t.expiry}
        options={EXPIRIES.map((expiry) => [expiry, t.expiries[expiry]] as const)}
        chosen={chosen}
      />
      <fieldset class="field field-wide flags">
        <legend>{t.scopes}</legend>
        <input type="hidden" name={SCOPES_OFFERED} value="1" />
        {TOKEN_SCOPES.map((scope) => (
          <label class="check">
            <input
              type="checkbox"
              name={scopeField(scope)}
              checked={!problem || problem.values.has(scopeField(scope))}
            />
            <span>{t.scopeNames[scope]}</span>
          </label>
        ))}
      </fieldset>
      <button class="button button-primary" type="submit">
        <Icon name="key" />
        {t.create}
      </button>
    </form>
  );
}
