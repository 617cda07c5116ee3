import ts from 'typescript5';

/** A small fault: `code` replaces the characters from `start` to `end` of a file. */
export type Fault = { start: number; end: number; code: string; change: string };

/** Each comparison negated, and moved by one where it has an order. */
const COMPARISONS: Record<string, string[]> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
};
/** What a function that writes is called, besides calls of a database handle. */
const WRITE =
  /^(save|write|store|insert|update|delete|remove|mark|record|add|set|clear|end|publish|send|db|tx)/;
/** A condition after the first one of a `where` or `on` in SQL: a column, a comparison and a value. */
const SQL_CONDITION = /\band [\w."]+ (?:=|<>|<=?|>=?|is not|is) (?:\$\{[^{}`]*\}|'[^']*'|[\w.]+)/g;

/** Lists the faults that can be planted in a file of TypeScript, in the order of its text. */
export function listFaults(path: string, code: string): Fault[] {
  const file = ts.createSourceFile(path, code, ts.ScriptTarget.Latest, true);
  const faults: Fault[] = [];

  const replace = (node: ts.Node, replacement: string) => {
    const old = node.getText(file);
    const start = node.getStart(file);
    const change = `${shorten(old)} → ${replacement === '' ? 'nothing' : shorten(replacement)}`;
    faults.push({ start, end: node.end, code: replacement, change });
  };

  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isBinaryExpression(node)) {
      const [left, operator, right] = [node.left, node.operatorToken, node.right].map((one) =>
        one.getText(file),
      );
      for (const other of COMPARISONS[operator ?? ''] ?? []) replace(node, `${left} ${other} ${right}`);
      if (operator === '&&') {
        replace(node, `${left}`);
        replace(node, `${right}`);
      }
      if (operator === '??') replace(node, `${right}`);
    }
    if (ts.isNumericLiteral(node)) {
      const isName = ts.isPropertyAssignment(node.parent) && node.parent.name === node;
      if (!isName) replace(node, `${node.getText(file)} + 1`);
    }
    if (ts.isIfStatement(node)) {
      replace(node.expression, `!(${node.expression.getText(file)})`);
      if (node.elseStatement === undefined && isReturn(node.thenStatement)) replace(node, '');
    }
    if (ts.isConditionalExpression(node)) replace(node.condition, `!(${node.condition.getText(file)})`);
    if (ts.isExpressionStatement(node) && ts.isAwaitExpression(node.expression)) {
      const call = node.expression.expression.getText(file);
      if (WRITE.test(call)) replace(node.expression, call);
    }
    if (ts.isCallExpression(node) && node.expression.getText(file) === 'and') {
      for (const argument of node.arguments) replace(argument, 'undefined');
    }
    if (ts.isTaggedTemplateExpression(node)) {
      const start = node.template.getStart(file);
      for (const match of node.template.getText(file).matchAll(SQL_CONDITION)) {
        const at = start + match.index;
        const change = `${shorten(match[0])} → nothing`;
        faults.push({ start: at, end: at + match[0].length, code: '', change });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return faults.sort((a, b) => a.start - b.start);
}

function isReturn(statement: ts.Statement): boolean {
  const last = ts.isBlock(statement) ? statement.statements.at(-1) : statement;
  return last !== undefined && (ts.isReturnStatement(last) || ts.isContinueStatement(last));
}

function shorten(code: string): string {
  const line = code.replaceAll(/\s+/g, ' ');
  return line.length > 70 ? `${line.slice(0, 69)}…` : line;
}
