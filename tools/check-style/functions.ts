import ts from 'typescript';

/** A function with a body, and how long it is. */
export interface FunctionSize {
  readonly name: string;
  /** 1-based line on which it begins. */
  readonly line: number;
  readonly lines: number;
}

/** All functions of a source, the ones inside others included: a nested one counts in both. */
export function functionSizes(source: ts.SourceFile): FunctionSize[] {
  const sizes: FunctionSize[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) sizes.push(sizeOf(source, node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return sizes;
}

function sizeOf(source: ts.SourceFile, node: ts.SignatureDeclaration): FunctionSize {
  const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
  const last = source.getLineAndCharacterOfPosition(node.getEnd()).line;
  return {
    name: nameOf(node),
    line: first + 1,
    lines: last - first + 1,
  };
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (node.name) return node.name.getText();
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  const { parent } = node;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText();
  return 'anonymous function';
}
