import ts from 'typescript';
import { lineOf } from './source-imports.ts';

/** A guarded global in use: `Date.now`, `setTimeout`, `process`… */
export interface GlobalUse {
  readonly name: string;
  readonly line: number;
}

/**
 * Uses of guarded globals. `Math.random` names a member; `process` names every use of the object. `new Date()` without
 * arguments reads the clock like `Date.now`. A name that the file declares itself is not the global; one that it imports
 * still is, for `import process from 'node:process'` is the same thing.
 */
export function globalUses(source: ts.SourceFile, guarded: readonly string[]): GlobalUse[] {
  const own = declaredNames(source);
  const uses: GlobalUse[] = [];
  const visit = (node: ts.Node): void => {
    const name = globalName(node, guarded);
    if (name !== undefined && !own.has(name.split('.')[0] ?? name)) {
      uses.push({ name, line: lineOf(source, node) });
    }
    // Types may name anything: they are gone when the program runs.
    if (!ts.isTypeNode(node)) ts.forEachChild(node, visit);
  };
  visit(source);
  return uses;
}

function globalName(node: ts.Node, guarded: readonly string[]): string | undefined {
  if (ts.isNewExpression(node)) return clockRead(node, guarded);
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
    const { text } = node.expression;
    // globalThis.setTimeout is setTimeout.
    const name = text === 'globalThis' ? node.name.text : `${text}.${node.name.text}`;
    return guarded.includes(name) ? name : undefined;
  }
  if (!ts.isIdentifier(node) || !guarded.includes(node.text)) return undefined;
  return isReference(node) ? node.text : undefined;
}

function clockRead(node: ts.NewExpression, guarded: readonly string[]): string | undefined {
  const bare = ts.isIdentifier(node.expression) && node.expression.text === 'Date';
  const argumentCount = node.arguments?.length ?? 0;
  return bare && argumentCount === 0 && guarded.includes('Date.now') ? 'Date.now' : undefined;
}

/** Whether an identifier stands for a value, not for the name of a member, a key, a declaration or an import. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isExportSpecifier(parent) || ts.isImportSpecifier(parent) || ts.isImportClause(parent)) return false;
  const declares =
    (ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isPropertyDeclaration(parent)) &&
    parent.name === node;
  const names =
    ts.isMethodDeclaration(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isFunctionDeclaration(parent) ||
    ts.isLabeledStatement(parent) ||
    ts.isGetAccessorDeclaration(parent) ||
    ts.isEnumMember(parent);
  return !declares && !(names && 'name' in parent && parent.name === node);
}

/** Names bound by the file itself: variables, parameters, functions, classes. */
function declaredNames(source: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    const declares =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isClassDeclaration(node);
    if (declares && node.name && ts.isIdentifier(node.name)) names.add(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}
