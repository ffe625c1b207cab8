import ts from 'typescript';
import type { SourceFile } from '../repository/source-files.ts';

/** A module that a file names: for values or for types, statically or not. */
export interface ModuleUse {
  /** Undefined for `import(expression)`, which no checker can follow. */
  readonly specifier: string | undefined;
  readonly line: number;
}

export function parseSource(file: SourceFile): ts.SourceFile {
  return ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ESNext, true);
}

export function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

/** Every way to name a module: import, export from, import(), require(), import x = require(), import('…').Type. */
export function moduleUses(source: ts.SourceFile): ModuleUse[] {
  const uses: ModuleUse[] = [];
  const visit = (node: ts.Node): void => {
    const module = moduleOf(node);
    if (module) {
      const specifier = ts.isStringLiteralLike(module) ? module.text : undefined;
      uses.push({ specifier, line: lineOf(source, node) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return uses;
}

function moduleOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference))
    return node.moduleReference.expression;
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return node.argument.literal;
  if (!ts.isCallExpression(node)) return undefined;
  const { expression } = node;
  const loads =
    expression.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(expression) && expression.text === 'require');
  return loads ? node.arguments[0] : undefined;
}
