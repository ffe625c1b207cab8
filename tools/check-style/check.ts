import { basename } from 'node:path';
import ts from 'typescript';
import { isTestFile } from '../check-layers/layer-law.ts';
import { lineOf, parseSource } from '../check-layers/source-imports.ts';
import type { Finding } from '../repository/finding.ts';
import type { SourceFile } from '../repository/source-files.ts';
import { functionSizes } from './functions.ts';

const MAX_FILE_LINES = 500;
const MAX_FUNCTION_LINES = 70;

/** File and folder names that say nothing of what is inside (STYLE.md, Files). */
const EMPTY_NAMES = ['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'types', 'shared', 'lib'];
/** Words that the glossary does not use, wherever they stand in a name of a file, class, interface or type. */
const UNUSED_WORDS = ['manager', 'worker', 'util', 'utils', 'helper', 'helpers', 'service', 'handler'];
/** Written in pieces, so that this file does not find itself. */
const OPEN_WORK = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|')})\\b`);
const NARROWED = ['only', 'skip', 'todo'];
const SUITES = ['it', 'test', 'describe'];

/** Everything in a file that breaks a rule of STYLE.md that a machine can see. */
export function checkStyle(file: SourceFile): Finding[] {
  const source = parseSource(file);
  return [
    ...fileNames(file),
    ...fileLength(file),
    ...openWork(file),
    ...functions(file, source),
    ...declaredNames(file, source),
    ...(isTestFile(file.path) ? narrowedTests(file, source) : []),
  ];
}

function fileNames({ path }: SourceFile): Finding[] {
  return path.split('/').flatMap((part) => {
    const stem = part.split('.')[0] ?? part;
    if (EMPTY_NAMES.includes(stem)) {
      return [
        finding(path, 0, `the name "${part}" says nothing: name the file by the one noun that it holds`),
      ];
    }
    const word = wordsOf(stem).find((candidate) => UNUSED_WORDS.includes(candidate));
    return word
      ? [finding(path, 0, `the name "${part}" has "${word}", which the glossary does not use`)]
      : [];
  });
}

function fileLength({ path, text }: SourceFile): Finding[] {
  const lines = text.replace(/\n$/, '').split('\n').length;
  if (lines <= MAX_FILE_LINES) return [];
  return [
    finding(path, MAX_FILE_LINES, `has ${lines} lines, expected at most ${MAX_FILE_LINES}: split it by noun`),
  ];
}

function openWork({ path, text }: SourceFile): Finding[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      OPEN_WORK.test(line)
        ? [finding(path, index + 1, 'open work in the code: do it, or file an issue')]
        : [],
    );
}

function functions({ path }: SourceFile, source: ts.SourceFile): Finding[] {
  // A describe block is a function of the test runner, and as long as what it describes.
  const limited = functionSizes(source).filter(
    (size) => !(isTestFile(path) && size.name === 'anonymous function'),
  );
  return limited
    .filter(({ lines }) => lines > MAX_FUNCTION_LINES)
    .map(({ name, line, lines }) =>
      finding(
        path,
        line,
        `${name} has ${lines} lines, expected at most ${MAX_FUNCTION_LINES}: pull steps out of it`,
      ),
    );
}

function declaredNames({ path }: SourceFile, source: ts.SourceFile): Finding[] {
  const found: Finding[] = [];
  const visit = (node: ts.Node): void => {
    const declares =
      ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
    const name = declares ? node.name?.text : undefined;
    const word = name && wordsOf(name).find((candidate) => UNUSED_WORDS.includes(candidate));
    if (word) {
      found.push(
        finding(path, lineOf(source, node), `"${name}" has "${word}", which the glossary does not use`),
      );
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** `it.only`, `describe.skip` and their like. `skipIf` and `runIf` are allowed: they say when, and stand for it. */
function narrowedTests({ path }: SourceFile, source: ts.SourceFile): Finding[] {
  const found: Finding[] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isPropertyAccessExpression(node) &&
      NARROWED.includes(node.name.text) &&
      SUITES.includes(rootName(node.expression))
    ) {
      found.push(
        finding(
          path,
          lineOf(source, node),
          `${node.getText(source)}: a test that is switched off proves nothing`,
        ),
      );
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** `it` in `it.concurrent.only`. */
function rootName(node: ts.Expression): string {
  if (ts.isPropertyAccessExpression(node)) return rootName(node.expression);
  return ts.isIdentifier(node) ? node.text : '';
}

/** `PoolManager` and `pool-manager` are both `pool`, `manager`. */
function wordsOf(name: string): string[] {
  return basename(name)
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_.]/);
}

function finding(path: string, line: number, message: string): Finding {
  return { path, line, message };
}
