/** Longest message of the runtime that is passed on. */
const MAX_LENGTH = 300;

const ABSOLUTE_PATH = /(?:[A-Za-z]:)?(?:[\\/][^\s"'():,;]+){2,}/g;
const SOURCE_LOCATION = /[\w./\\-]+\.(?:cc|cpp|h|cu)(?::\d+)?/g;
/** What the runtime's own assertions print before the condition: the C++ signature of the function. */
const FUNCTION_SIGNATURE = /^.*?\)(?: const)? (?=[\w(!])/;
const NODE_FAILURE =
  /^Non-zero status code returned while running (\S+) node\. Name:'[^']*' Status Message: /;
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** A message of the runtime without paths of this machine, C++ signatures and colours, on one line. Public. */
export function publicText(message: string): string {
  const line = message.replace(COLOUR, '').replace(/\s+/g, ' ').trim();
  const operator = NODE_FAILURE.exec(line);
  let rest = operator ? line.slice(operator[0].length) : line;
  if (/^\S*onnxruntime_src\S*/.test(rest)) {
    rest = rest.replace(/^\S+ /, '').replace(FUNCTION_SIGNATURE, '');
  }
  rest = rest.replace(ABSOLUTE_PATH, fileName).replace(SOURCE_LOCATION, '').replace(/\s+/g, ' ').trim();
  const text = operator ? `operator ${operator[1]}: ${rest}` : rest;
  const short = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
  return short.replace(/[.\s]+$/, '');
}

function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}
